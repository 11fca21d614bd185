package engine

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// Accelerator is a device that compiles kernels of its own; other devices run Go code. The steps of a program compiled for
// an accelerator become Operations.
type Accelerator interface {
	device.Device
	// Supports returns nil if Lower can make a kernel for the operation, else what is missing. Operands have types and
	// constants by then, but no places.
	Supports(o *Operation) error
	// Lower makes the kernels of a program's operations. The accelerator must support all of them.
	Lower(ops []*Operation, how LowerOptions) (Code, error)
}

// LowerOptions say how kernels compute.
type LowerOptions struct {
	TF32 bool // products and convolutions of float32 may round their operands to tf32
}

// Code is the kernels of one program. It is used by one goroutine at a time.
type Code interface {
	// Workspace returns how many bytes operation i needs besides its operands for a batch of that many rows. It does not
	// depend on places.
	Workspace(i, batch int) int
	// Segment returns a kernel of the accelerator that does operations in the order given, as one unit. It may be
	// launched any number of times once Bind was called.
	Segment(ops []int) device.Kernel
	// Bind is called before the first launch, and whenever places or sizes of operands have changed. If moved is set, the
	// operands have new places, and anything derived from the old ones is void.
	Bind(batch int, moved bool) error
	// Close frees what belongs to this program alone.
	Close() error
}

// Operation is a step of a program as an accelerator sees it. Faults that the kernels find (an index out of range) are
// reported by the stream's Synchronize, as a *FaultError, and prevent later updates of the same run.
type Operation struct {
	Index int         // among the program's operations
	Node  *graph.Node // op, name, attributes and types, including fused ops; do not follow its inputs
	In    []*Operand  // by input; for a resource input, the variable
	Out   []*Operand
	Guard *Operand // if not nil, the update is made only if this int64, the result of an op "_Guard", is 0
	// Body is the nodes of a fusion, an op "_Elementwise", in order. Their inputs are results of earlier nodes or Sources,
	// in the order of In; Results are the outputs of nodes that the fusion returns, in the order of Out.
	Body             []*graph.Node
	Sources, Results []graph.Output
	Workspace        Operand // the bytes that Code.Workspace asked for, for this operation alone
}

// Operand is a value or a variable of a program on an accelerator.
type Operand struct {
	Type     graph.Type
	Variable bool           // read and written in place
	Constant *tensor.Tensor // the value if known at compilation; it is on the device, too

	// Since the last Bind:
	Buffer device.Buffer // nil if only the type matters
	Offset int           // bytes
	Dims   []int
	N      int // elements
}

// FaultError reports a fault that a kernel of an accelerator found in its operands.
type FaultError struct {
	Operation int   // its Operation.Index
	Err       error // for example an *IndexError
}

// Error describes the fault without the node's name, which only the program knows.
func (e *FaultError) Error() string { return e.Err.Error() }

// Unwrap returns the fault itself.
func (e *FaultError) Unwrap() error { return e.Err }
