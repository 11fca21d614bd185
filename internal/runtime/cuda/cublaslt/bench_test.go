package cublaslt

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/libcuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// BenchmarkProducts reports the rate of some shapes on a GPU, in 1e9 operations per second by the device's events.
func BenchmarkProducts(b *testing.B) {
	d, err := libcuda.Open()
	if err != nil {
		b.Skipf("skipped: no GPU: %v", err)
	}
	c, err := d.Open(0)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	p, err := Open(c, &noProducts{}, dylib.WheelFolders(dylib.CuBLASLt, filepath.Join(testkit.Root(), ".venv"))...)
	if err != nil {
		b.Skipf("skipped: %v", err)
	}
	for _, s := range [][3]int{{128, 512, 784}, {8192, 512, 784}, {784, 512, 8192}, {4096, 4096, 4096}, {8192, 8192, 8192}} {
		for _, how := range []struct {
			name string
			t    tensor.DType
			p    lower.Precision
		}{{"float32", tensor.Float32, lower.Float32}, {"tf32", tensor.Float32, lower.TF32}, {"bfloat16", tensor.BFloat16, lower.Float32}} {
			q := lower.Product{M: s[0], N: s[1], K: s[2], Precision: how.p, A: lower.Matrix{Type: how.t, Stride: s[2]},
				B: lower.Matrix{Type: how.t, Stride: s[1]}, Out: lower.Matrix{Type: how.t, Stride: s[1]}}
			b.Run(fmt.Sprintf("%dx%dx%d/%s", s[0], s[1], s[2], how.name), func(b *testing.B) { benchmark(b, c, p, q) })
		}
	}
	if err := p.Close(); err != nil {
		b.Error(err)
	}
}

func benchmark(b *testing.B, c driver.Context, p *Products, q lower.Product) {
	size := q.A.Type.Size()
	var places [4]driver.Ptr
	for i, n := range []int{q.M * q.K * size, q.K * q.N * size, q.M * q.N * size, workspaceLimit} {
		at, err := c.Alloc(n)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Free(at)
		places[i] = at
	}
	q.A.At, q.B.At, q.Out.At, q.Workspace, q.WorkspaceBytes = places[0], places[1], places[2], places[3], workspaceLimit
	s, err1 := c.NewStream()
	from, err2 := c.NewEvent(true)
	to, err3 := c.NewEvent(true)
	l, err4 := p.Plan(q)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(s.Fill(q.A.At, 0, q.M*q.K*size), s.Fill(q.B.At, 0, q.K*q.N*size), l.Issue(s), s.Record(from)); err != nil {
		b.Fatal(err)
	}
	if _, ok := l.(launch); !ok {
		b.Skip("skipped: the library refuses the shape")
	}
	n := 0
	for ; b.Loop(); n++ {
		if err := l.Issue(s); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(s.Record(to), to.Synchronize()); err != nil {
		b.Fatal(err)
	}
	took, err := to.Since(from)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(2*float64(q.M)*float64(q.N)*float64(q.K)*float64(n)/float64(took.Nanoseconds()), "GFLOP/s")
	if err := errors.Join(from.Close(), to.Close(), s.Close()); err != nil {
		b.Error(err)
	}
}
