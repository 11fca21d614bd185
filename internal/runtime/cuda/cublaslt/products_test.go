package cublaslt

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nativeStream is a stream that only has a handle.
type nativeStream struct{ driver.Stream }

func (nativeStream) Handle() uintptr { return 77 }

// noProducts is own kernels that record the products they are asked for.
type noProducts struct{ asked []lower.Product }

func (n *noProducts) Workspace(lower.Product) int { return 123 }
func (n *noProducts) Plan(p lower.Product) (lower.Launch, error) {
	n.asked = append(n.asked, p)
	return lower.Sequence(nil), nil
}

// memory is the memory for a test's operands.
type memory interface {
	alloc(bytes int) driver.Ptr
	load(at uintptr, i int, t uintptr) float64
	store(at uintptr, i int, t uintptr, v float64)
}

// example is a product over random numbers in memory, with the expected results, packed.
type example struct {
	lower.Product
	want []float64
}

// matrixIn makes a random matrix whose rows have pad more elements than the matrix has columns.
func matrixIn(m memory, rng *rand.Rand, d tensor.DType, batch, rows, cols, pad int) lower.Matrix {
	x := lower.Matrix{Type: d, Stride: cols + pad, Step: rows * (cols + pad)}
	x.At = m.alloc(max(1, batch*x.Step*d.Size()))
	for i := range batch * x.Step {
		m.store(uintptr(x.At), i, types[d], math.Round(8*rng.NormFloat64())/8) // exact in bfloat16
	}
	return x
}

// newExample completes a product with given sizes, transposes, batch, precision and types of A and Out.
func newExample(m memory, p lower.Product, pad int, bias bool) *example {
	rng := rand.New(rand.NewPCG(uint64(p.M), uint64(p.N)))
	turn := func(t bool, r, c int) (int, int) {
		if t {
			return c, r
		}
		return r, c
	}
	ra, ca := turn(p.TransA, p.M, p.K)
	rb, cb := turn(p.TransB, p.K, p.N)
	batch := max(p.Batch, 1)
	in, out := p.A.Type, p.Out.Type
	p.A, p.B, p.Out = matrixIn(m, rng, in, batch, ra, ca, pad), matrixIn(m, rng, in, batch, rb, cb, pad), matrixIn(m, rng, out, batch, p.M, p.N, pad)
	p.B.Type = in
	if bias {
		b := matrixIn(m, rng, out, 1, 1, p.N, 0)
		p.Bias, p.BiasType = b.At, out
	}
	e := &example{Product: p}
	at := func(x lower.Matrix, z, i, j int) float64 {
		return m.load(uintptr(x.At), z*x.Step+i*x.Stride+j, types[x.Type])
	}
	for z := range batch {
		for i := range p.M {
			for j := range p.N {
				s := 0.0
				for k := range p.K {
					ai, ak := turn(p.TransA, i, k)
					bk, bj := turn(p.TransB, k, j)
					s += at(p.A, z, ai, ak) * at(p.B, z, bk, bj)
				}
				if bias {
					s += m.load(uintptr(p.Bias), j, types[out])
				}
				if p.Relu {
					s = max(s, 0)
				}
				e.want = append(e.want, s)
			}
		}
	}
	return e
}

func (e *example) check(t *testing.T, m memory) {
	t.Helper()
	tolerance := 1e-5
	if e.Out.Type == tensor.BFloat16 {
		tolerance = 1e-2
	}
	for i, w := range e.want {
		z, row, col := i/e.N/e.M, i/e.N%e.M, i%e.N
		if g := m.load(uintptr(e.Out.At), z*e.Out.Step+row*e.Out.Stride+col, types[e.Out.Type]); !testkit.Near(g, w, tolerance*max(1, math.Abs(w))) {
			t.Fatalf("%+v: element %d, %d of %d: expected %g, got %g", e.Product, row, col, z, w, g)
		}
	}
}

// examples are all transposes of all types, with and without batch, padding, bias and ReLU.
func examples(m memory) (all []*example) {
	types := [][2]tensor.DType{{tensor.Float32, tensor.Float32}, {tensor.Float64, tensor.Float64}, {tensor.BFloat16, tensor.BFloat16}, {tensor.BFloat16, tensor.Float32}}
	for i, t := range types {
		for form := range 16 {
			p := lower.Product{M: 3 + form%3, N: 5 - form%2, K: 4 + i, TransA: form&1 != 0, TransB: form&2 != 0, Relu: form&4 != 0, Batch: form % 4,
				A: lower.Matrix{Type: t[0]}, Out: lower.Matrix{Type: t[1]}}
			all = append(all, newExample(m, p, form%3, form&8 != 0))
		}
	}
	return all
}

func TestProductsByColumns(t *testing.T) {
	f := newFake()
	own := &noProducts{}
	p := newProducts(f, own)
	for _, e := range examples(&f.memory) {
		if w := p.Workspace(e.Product); w != 4096 {
			t.Fatalf("workspace: expected what the first algorithm that fits needs, got %d", w)
		}
		e.Workspace, e.WorkspaceBytes = 4096, 4096
		l, err := p.Plan(e.Product)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Issue(nativeStream{}); err != nil {
			t.Fatal(err)
		}
		e.check(t, &f.memory)
		if last := f.log[len(f.log)-1]; last != "matmul algorithm 7, workspace 4096 at 4096, stream 77" {
			t.Fatalf("got %s", last)
		}
	}
	if err := p.Close(); err != nil || len(f.objects) != 0 || len(own.asked) != 0 {
		t.Errorf("%v; %d objects left; %d products by own kernels", err, len(f.objects), len(own.asked))
	}
}

// TestIssueOnlyLaunches checks that a shape is planned once, and that a run only launches.
func TestIssueOnlyLaunches(t *testing.T) {
	f := newFake()
	p := newProducts(f, &noProducts{})
	form := lower.Product{M: 3, N: 4, K: 5, Batch: 2, Relu: true, Precision: lower.TF32, A: lower.Matrix{Type: tensor.Float32}, Out: lower.Matrix{Type: tensor.Float32}}
	one, two := newExample(&f.memory, form, 0, true), newExample(&f.memory, form, 0, true)
	one.WorkspaceBytes, two.WorkspaceBytes = 4096, 4096
	l, err1 := p.Plan(one.Product)
	made := slices.Clone(f.log)
	k, err2 := p.Plan(two.Product)
	if err := errors.Join(err1, err2); err != nil || f.asked != 1 {
		t.Fatalf("%v; asked %d times", err, f.asked)
	}
	f.log = nil
	if err := errors.Join(l.Issue(nativeStream{}), k.Issue(nativeStream{})); err != nil {
		t.Fatal(err)
	}
	one.check(t, &f.memory)
	two.check(t, &f.memory)
	var calls []string
	for _, c := range f.log {
		calls = append(calls, strings.Fields(c)[0])
	}
	if want := []string{"set", "matmul", "set", "matmul"}; !slices.Equal(calls, want) {
		t.Errorf("expected %v, got %v", want, f.log)
	}
	if want := fmt.Sprintf("create %d [%d %d]", operation, computeTF32, typeFloat32); !slices.Contains(made, want) || !slices.Contains(made, fmt.Sprintf("heuristic %d", workspaceLimit)) {
		t.Errorf("expected %s among %v", want, made)
	}
}

func TestProductsOfTheOwnKernels(t *testing.T) {
	f := newFake()
	own := &noProducts{}
	p := newProducts(f, own)
	form := lower.Product{M: 3, N: 4, K: 5, A: lower.Matrix{Type: tensor.Float32}, Out: lower.Matrix{Type: tensor.Float32}}

	small := newExample(&f.memory, form, 0, false) // no room for the best algorithm, so the heuristic is asked again
	if _, err := p.Plan(small.Product); err != nil || len(own.asked) != 0 {
		t.Fatalf("%v; own kernels: %v", err, own.asked)
	}
	if !slices.Contains(f.log, "heuristic 0") {
		t.Errorf("expected an algorithm without workspace, got %v", f.log)
	}
	f.offers = nil
	form.M = 30
	refused := newExample(&f.memory, form, 0, true)
	if w := p.Workspace(refused.Product); w != 123 {
		t.Errorf("a shape that the library refuses: got %d bytes of workspace", w)
	}
	if got := p.Refused(); len(got) != 1 || got[0] != "1 x 30 x 4 x 5, float32 to float32, bias" {
		t.Errorf("got %q", got)
	}
	form.K = 0
	nothing := newExample(&f.memory, form, 1, true)
	if _, err := p.Plan(nothing.Product); err != nil || len(own.asked) != 1 {
		t.Errorf("%v; own kernels: %v", err, own.asked)
	}
	if _, err := p.Plan(refused.Product); err != nil || len(own.asked) != 2 {
		t.Errorf("%v; own kernels: %v", err, own.asked)
	}
	form.M = 0
	if l, err := p.Plan(newExample(&f.memory, form, 1, false).Product); err != nil || len(own.asked) != 2 || l.Issue(nil) != nil {
		t.Errorf("a product without results: %v, %v", err, own.asked)
	}
	if err := p.Close(); err != nil || len(f.objects) != 0 {
		t.Errorf("%v; %d objects left", err, len(f.objects))
	}
}

func TestErrors(t *testing.T) {
	d := fake.New(fake.Default)
	c, err := d.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := Open(c, nil); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("a context that is no GPU's: got %v", err)
	}
	odd := &Error{"call", StatusInternal}
	for _, call := range []string{"create", "set", "heuristic", "matmul"} {
		f := newFake()
		p := newProducts(f, &noProducts{})
		e := newExample(&f.memory, lower.Product{M: 3, N: 4, K: 5, TransA: true, A: lower.Matrix{Type: tensor.Float32}, Out: lower.Matrix{Type: tensor.Float32}}, 0, true)
		f.fail[call] = odd
		l, err := p.Plan(e.Product)
		if err == nil {
			if err := l.Issue(nil); !errors.Is(err, driver.ErrInvalid) {
				t.Errorf("a stream that is no GPU's: got %v", err)
			}
			err = l.Issue(nativeStream{})
		}
		if !errors.Is(err, odd) {
			t.Errorf("%s: expected its error, got %v", call, err)
		}
		if err := p.Close(); err != nil || len(f.objects) != 0 {
			t.Errorf("%s: %v; %d objects left", call, err, len(f.objects))
		}
	}
	p := newProducts(newFake(), &noProducts{})
	if _, err := p.Plan(lower.Product{M: 1}); err == nil {
		t.Error("a product of nothing: expected an error")
	}
	if s := (&Error{"f", 99}).Error(); s != "f: unknown status (99)" {
		t.Errorf("got %s", s)
	}
}
