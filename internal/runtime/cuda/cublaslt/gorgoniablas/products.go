//go:build cu

package gorgoniablas

import (
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	"github.com/goestimator/goestimator/tensor"
	"gonum.org/v1/gonum/blas"
	cublas "gorgonia.org/cu/blas"
)

// workspaceBytes is NVIDIA's recommendation for Hopper.
const workspaceBytes = 32 << 20

// Products implements lower.Products for float32 on one GPU.
type Products struct {
	current func(f func() error) error
	kernels *kernels.Library
	own     lower.Products

	mu   sync.Mutex
	blas *cublas.Standard
}

// Open starts cuBLAS for a context of a real GPU. l are own kernels, loaded in the context, for biases, ReLU and products
// of other types.
func Open(c driver.Context, l *kernels.Library) (*Products, error) {
	real, ok := c.(driver.NativeContext)
	if !ok {
		return nil, fmt.Errorf("cuBLAS: expected a context of a real GPU, got %T: %w", c, driver.ErrInvalid)
	}
	p := &Products{current: real.Current, kernels: l, own: lower.OwnProducts(l), blas: &cublas.Standard{}}
	if err := real.Current(func() error { return p.blas.Init() }); err != nil {
		return nil, fmt.Errorf("cuBLAS: %w", err)
	}
	return p, nil
}

// Close ends the library. No launches may be issued afterwards.
func (p *Products) Close() error { return p.current(p.blas.Close) }

// does reports whether cuBLAS does a product. The epilogue needs results without gaps.
func does(q lower.Product) bool {
	packed := q.Out.Stride == q.N && (q.Batch <= 1 || q.Out.Step == q.M*q.N)
	return q.A.Type == tensor.Float32 && min(q.M, q.N, q.K) > 0 && (packed || q.Bias == 0 && !q.Relu)
}

// Workspace implements lower.Products.
func (p *Products) Workspace(q lower.Product) int {
	switch {
	case q.Check() != nil:
		return 0 // Plan tells
	case !does(q):
		return p.own.Workspace(q)
	}
	return workspaceBytes
}

// Plan implements lower.Products.
func (p *Products) Plan(q lower.Product) (lower.Launch, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	q.Batch = max(q.Batch, 1)
	if !does(q) {
		return p.own.Plan(q)
	}
	all := lower.Sequence{launch{p, q}}
	if q.Bias != 0 || q.Relu {
		g := kernels.Gemm{Out: q.Out.At, Bias: q.Bias, M: q.M, N: q.N, Batch: q.Batch, LDOut: q.N, StrideO: q.M * q.N, Relu: q.Relu}
		all = append(all, lower.Launches(p.kernels, g.Epilogue())...)
	}
	return all, nil
}

// launch is a product with addresses.
type launch struct {
	p *Products
	q lower.Product
}

// Issue implements lower.Launch.
func (l launch) Issue(s driver.Stream) error {
	real, ok := s.(driver.NativeStream)
	if !ok {
		return fmt.Errorf("cuBLAS: expected a stream of a real GPU, got %T: %w", s, driver.ErrInvalid)
	}
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	return l.p.current(func() error { return l.issue(real.Handle()) })
}

// issue computes the transpose, by columns, with the operands exchanged.
func (l launch) issue(stream uintptr) error {
	q := l.q
	if err := prepare(l.p.blas, stream, q.Workspace, q.WorkspaceBytes, q.Precision == lower.TF32); err != nil {
		return err
	}
	for z := range q.Batch {
		at := func(m lower.Matrix) []float32 { return floats(m.At + driver.Ptr(4*z*m.Step)) }
		l.p.blas.Sgemm(trans(q.TransB), trans(q.TransA), q.N, q.M, q.K, 1, at(q.B), q.B.Stride, at(q.A), q.A.Stride, 0, at(q.Out), q.Out.Stride)
	}
	if err := l.p.blas.Err(); err != nil {
		return fmt.Errorf("product of %d x %d x %d by cuBLAS: %w", q.M, q.N, q.K, err)
	}
	return nil
}

func trans(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}
