package lower

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// OwnProducts returns Products by the kernels of module gemm.
func OwnProducts(l *kernels.Library) Products { return ownProducts{l} }

type ownProducts struct{ l *kernels.Library }

// Workspace implements Products.
func (o ownProducts) Workspace(p Product) int {
	g, err := gemm(p)
	if err != nil {
		return 0 // Plan returns the error
	}
	return g.ScratchBytes()
}

// Plan implements Products.
func (o ownProducts) Plan(p Product) (Launch, error) {
	g, err := gemm(p)
	if err != nil {
		return nil, err
	}
	return Sequence(Launches(o.l, g.Calls()...)), nil
}

// gemm returns a product for the kernels.
func gemm(p Product) (g kernels.Gemm, err error) {
	if err := p.Check(); err != nil {
		return g, err
	}
	types := map[tensor.DType]kernels.GemmType{tensor.Float32: kernels.GemmFloat32, tensor.BFloat16: kernels.GemmBFloat16, tensor.Float64: kernels.GemmFloat64}
	return kernels.Gemm{Out: p.Out.At, A: p.A.At, B: p.B.At, Bias: p.Bias, Scratch: p.Workspace, ScratchSize: p.WorkspaceBytes,
		Type: types[p.A.Type], BFloat16Out: p.Out.Type == tensor.BFloat16, M: p.M, N: p.N, K: p.K,
		LDA: p.A.Stride, LDB: p.B.Stride, LDOut: p.Out.Stride, Batch: max(p.Batch, 1), StrideA: p.A.Step, StrideB: p.B.Step, StrideO: p.Out.Step,
		TransA: p.TransA, TransB: p.TransB, Relu: p.Relu, TF32: p.Precision == TF32}, nil
}

// Check fails if types or sizes do not match.
func (p Product) Check() error {
	in, out := p.A.Type, p.Out.Type
	switch {
	case in != p.B.Type || in != tensor.Float32 && in != tensor.Float64 && in != tensor.BFloat16:
		return fmt.Errorf("product of %v and %v: expected two of float32, of float64 or of bfloat16", in, p.B.Type)
	case out != in && (in != tensor.BFloat16 || out != tensor.Float32):
		return fmt.Errorf("product of %v: expected a result of the same type, or float32 of bfloat16, got %v", in, out)
	case p.Bias != 0 && p.BiasType != out:
		return fmt.Errorf("product of %v: expected a bias of type %v, got %v", in, out, p.BiasType)
	case min(p.M, p.N, p.K, p.Batch) < 0:
		return fmt.Errorf("product of %d x %d x %d, %d times: expected no negative size", p.M, p.N, p.K, p.Batch)
	case p.Out.Stride < p.N || p.A.Stride < pick(p.TransA, p.M, p.K) || p.B.Stride < pick(p.TransB, p.K, p.N):
		return fmt.Errorf("product of %d x %d x %d: strides %d, %d and %d are less than a row's elements", p.M, p.N, p.K, p.A.Stride, p.B.Stride, p.Out.Stride)
	}
	return nil
}

func pick(first bool, a, b int) int {
	if first {
		return a
	}
	return b
}

// Sequence is several launches as one.
type Sequence []Launch

// Issue implements Launch.
func (q Sequence) Issue(s driver.Stream) error {
	for _, l := range q {
		if err := l.Issue(s); err != nil {
			return err
		}
	}
	return nil
}
