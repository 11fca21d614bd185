package engine

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// Accelerator is a device that makes kernels of its own, where other devices run Go code. The steps of a program compiled for
// one become Operations.
type Accelerator interface {
	device.Device
	// Supports returns nil where Lower makes a kernel for the operation, else what is missing. Operands have types and
	// constants by then, but no places.
	Supports(o *Operation) error
	// Lower makes the kernels of a program's operations; it supports all of them.
	Lower(ops []*Operation, how LowerOptions) (Code, error)
}

// LowerOptions say how kernels compute.
type LowerOptions struct {
	TF32 bool // products and convolutions of float32 may round their operands to tf32
}

// Code is the kernels of one program. It is used by one goroutine at a time.
type Code interface {
	// Workspace returns how many bytes operation i needs beside its operands for a batch of that many rows, 0 for none. It
	// does not depend on places.
	Workspace(i, batch int) int
	// Segment returns a kernel of the accelerator that does operations in the order given, as one unit. It may be
	// launched any number of times once Bind was called.
	Segment(ops []int) device.Kernel
	// Bind is called whenever places or sizes of operands have changed, and before the first launch. What was derived
	// from earlier ones for this batch is void where the operands have moved.
	Bind(batch int, moved bool) error
	// Close gives back what belongs to this program alone.
	Close() error
}

// Operation is a step of a program as an accelerator sees it. Faults that the kernels find (an index out of range) are
// reported by the stream's Synchronize, as a *FaultError, and keep later updates of the same run from happening.
type Operation struct {
	Index int         // among the program's operations
	Node  *graph.Node // op, name, attributes and types, with what fusion has taken in; its inputs are not to be followed
	In    []*Operand  // by input; a resource input is the variable
	Out   []*Operand
	Guard *Operand // of an update that is made only where this int64, the result of an op "_Guard", is 0; else nil
	// Body is the nodes of a fusion, an op "_Elementwise", in order: their inputs are results of nodes before, or Sources,
	// which are In; Results, which are Out, are some of theirs.
	Body             []*graph.Node
	Sources, Results []graph.Output
	Workspace        Operand // of as many bytes as Code.Workspace has asked for; for this operation alone
}

// Operand is a value or a variable of a program on an accelerator.
type Operand struct {
	Type     graph.Type
	Variable bool           // read and written in place
	Constant *tensor.Tensor // where the value is known when the program is compiled; it is on the device, too

	// Since the last Bind:
	Buffer device.Buffer // nil where only the type matters
	Offset int           // bytes
	Dims   []int
	N      int // elements
}

// FaultError reports what a kernel of an accelerator found wrong in what it was given.
type FaultError struct {
	Operation int   // its Operation.Index
	Err       error // an *IndexError, say
}

// Error describes the fault without the node's name, which only the program knows.
func (e *FaultError) Error() string { return e.Err.Error() }

// Unwrap returns the fault itself.
func (e *FaultError) Unwrap() error { return e.Err }
