package lower

import (
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/tensor"
)

// Products multiplies matrices, with cuBLASLt or own kernels.
type Products interface {
	// Workspace returns the bytes of workspace that Plan can use for a product of these sizes and types.
	Workspace(p Product) int
	// Plan prepares a product for its current addresses. Launches of one plan do not run at the same time.
	Plan(p Product) (Launch, error)
}

// Product is Out = relu(op(A)·op(B) + Bias), where op transposes, over a batch of matrices. All are stored by rows.
type Product struct {
	A, B, Out      Matrix
	M, N, K        int  // op(A) is [M, K], op(B) [K, N]
	TransA, TransB bool // A is stored as [K, M], B as [N, K]
	Batch          int  // matrices; 0 means 1
	Bias           driver.Ptr
	BiasType       tensor.DType // of Bias [N], if Bias is not 0
	Relu           bool
	Precision      Precision

	Workspace      driver.Ptr
	WorkspaceBytes int
}

// Matrix is an operand of a product, or a batch of them.
type Matrix struct {
	At     driver.Ptr
	Type   tensor.DType // Float32, BFloat16 or Float64
	Stride int          // elements from one stored row to the next
	Step   int          // elements from one matrix of the batch to the next; 0 uses the same one for all
}

// Convolutions does two-dimensional convolutions, with cuDNN or own kernels.
type Convolutions interface {
	// Workspace returns the bytes of workspace that Plan can use for a convolution of these sizes and types.
	Workspace(c Convolution) int
	// Plan prepares a convolution for its current addresses.
	Plan(c Convolution) (Launch, error)
}

// Direction says which of a convolution's tensors is computed from the other two.
type Direction int

// The directions.
const (
	Forward        Direction = iota // Y
	InputGradient                   // X's gradient, with Y the result's gradient
	FilterGradient                  // Filter's gradient, with Y the result's gradient
)

// Convolution is a convolution of X [Batch, InH, InW, InC] with Filter [H, W, InC/Groups, OutC] to Y [Batch, OutH, OutW,
// OutC], or a gradient of it. X, Y and Filter have the same sizes in all directions.
type Convolution struct {
	Direction    Direction
	X, Filter, Y driver.Ptr
	Type         tensor.DType // of all three: Float32 or BFloat16
	GradientType tensor.DType // Float32 if a FilterGradient's Filter does not have Type
	Precision    Precision

	Batch, InH, InW, InC int
	OutH, OutW, OutC     int
	H, W                 int // the filter's size
	StrideH, StrideW     int
	DilationH, DilationW int
	PadTop, PadLeft      int // padding at the other ends follows from the sizes
	Groups               int // 0 means 1

	Bias     driver.Ptr // [OutC], Forward only; 0 for none
	BiasType tensor.DType
	Relu     bool // Forward only

	Workspace      driver.Ptr
	WorkspaceBytes int
}
