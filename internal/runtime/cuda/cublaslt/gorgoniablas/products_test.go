//go:build cu

package gorgoniablas

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	"github.com/goestimator/goestimator/tensor"
)

type stream struct{ driver.Stream }

func (stream) Handle() uintptr { return 77 }

type context struct{ driver.Context }

func (context) Current(f func() error) error { return f() }

func random(n int) []float32 {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.IntN(9) - 4)
	}
	return v
}

func address(v []float32) driver.Ptr { return driver.Ptr(uintptr(unsafe.Pointer(&v[0]))) }

// TestSgemm multiplies on the stub of testdata.
func TestSgemm(t *testing.T) {
	p, err := Open(context{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const m, n, k, batch = 3, 4, 5, 2
	a, b, out, w := random(batch*m*k), random(k*n), make([]float32, batch*m*n), random(1)
	for form := range 4 {
		q := lower.Product{M: m, N: n, K: k, TransA: form&1 != 0, TransB: form&2 != 0, Batch: batch, Workspace: address(w), WorkspaceBytes: 4,
			A: lower.Matrix{At: address(a), Type: tensor.Float32, Stride: k, Step: m * k}, B: lower.Matrix{At: address(b), Type: tensor.Float32, Stride: n},
			Out: lower.Matrix{At: address(out), Type: tensor.Float32, Stride: n, Step: m * n}}
		if q.TransA {
			q.A.Stride = m
		}
		if q.TransB {
			q.B.Stride = k
		}
		if p.Workspace(q) != workspaceBytes {
			t.Errorf("workspace: got %d", p.Workspace(q))
		}
		l, err := p.Plan(q)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Issue(stream{}); err != nil {
			t.Fatal(err)
		}
		for i := range out {
			z, row, col := i/n/m, i/n%m, i%n
			want := float32(0)
			for j := range k {
				ia, ib := row*k+j, j*n+col
				if q.TransA {
					ia = j*m + row
				}
				if q.TransB {
					ib = col*k + j
				}
				want += a[z*m*k+ia] * b[ib]
			}
			if out[i] != want {
				t.Fatalf("form %d, element %d: expected %g, got %g", form, i, want, out[i])
			}
		}
		if err := l.Issue(nil); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("no stream: got %v", err)
		}
		q.Bias, q.BiasType = address(w), tensor.Float32
		if l, err := p.Plan(q); err != nil || len(l.(lower.Sequence)) != 2 {
			t.Errorf("with a bias: expected a second launch, got %v, %v", l, err)
		}
		q.Precision = lower.TF32
		if l, err := p.Plan(q); err != nil || l.Issue(stream{}) == nil {
			t.Errorf("tf32: expected the stub's error, got %v", err)
		}
	}
	runtime.KeepAlive([][]float32{a, b, out, w})
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func ExampleOpen() {
	_, err := Open(nil, nil)
	fmt.Println(errors.Is(err, driver.ErrInvalid))
	// Output: true
}
