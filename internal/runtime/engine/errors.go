package engine

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// UnsupportedOpError reports that the engine does not support an op on the device.
type UnsupportedOpError struct {
	Op, Node string
	Reason   string // "" if the op is unknown
	// Placement reports that only the accelerator lacks the op: without Options.HardPlacement it would run on the host.
	Placement bool
}

// Error implements error.
func (e *UnsupportedOpError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("op %s of node %s is not supported by the engine", e.Op, e.Node)
	}
	return fmt.Sprintf("op %s of node %s: %s", e.Op, e.Node, e.Reason)
}

// NodeError reports that a node of a run failed.
type NodeError struct {
	Op, Node string
	Err      error
}

// Error implements error.
func (e *NodeError) Error() string { return fmt.Sprintf("node %s (%s): %v", e.Node, e.Op, e.Err) }

// Unwrap returns the cause.
func (e *NodeError) Unwrap() error { return e.Err }

// NumericsError names the first node that produced a NaN or an infinity in a run with Options.CheckNumerics.
type NumericsError struct {
	Op, Node string
	Output   int
	NaN      bool // a NaN; else an infinity
	Fed      bool // the value was fed
	Read     bool // the value was a variable's
}

// Error implements error.
func (e *NumericsError) Error() string {
	what := "an infinity"
	if e.NaN {
		what = "a NaN"
	}
	switch {
	case e.Fed:
		return fmt.Sprintf("feed %s holds %s: correct the input data", e.Node, what)
	case e.Read:
		return fmt.Sprintf("variable %s holds %s: an update before this step made it: lower the learning rate or clip gradients", e.Node, what)
	}
	return fmt.Sprintf("node %s (%s) made %s in output %d from finite inputs: lower the learning rate or clip gradients", e.Node, e.Op, what, e.Output)
}

// PanicError reports that the engine's code for a node panicked: a bug in goestimator, not the user's mistake.
type PanicError struct {
	Op, Node string // "" outside of the steps
	Value    any    // the panic's value
	Stack    []byte
}

func newPanicError(r any, s *step) *PanicError {
	e := &PanicError{Value: r, Stack: debug.Stack()}
	if s != nil {
		e.Op, e.Node = s.op.node.Op, s.op.node.Name
	}
	return e
}

// Error implements error.
func (e *PanicError) Error() string {
	if e.Node == "" {
		return fmt.Sprintf("panic while preparing a run: %v: this is a bug of goestimator: please report it", e.Value)
	}
	return fmt.Sprintf("node %s (%s): panic: %v: this is a bug of goestimator: please report it", e.Node, e.Op, e.Value)
}

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// errFusion means that a fusion for an accelerator was compiled for the host: it has no Go form.
var errFusion = errors.New("elementwise regions are of accelerators")

var (
	// ErrClosed means that a program was run after its Close.
	ErrClosed = errors.New("the program is closed")
	// ErrCycle means that nodes depend on each other in a circle.
	ErrCycle = errors.New("graph has a cycle")
	// ErrNotFed means that a placeholder has no feed.
	ErrNotFed = errors.New("placeholder is not fed")
	// ErrVariable means that a variable is absent or of another type.
	ErrVariable = errors.New("variable does not fit")
)
