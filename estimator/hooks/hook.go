package hooks

import (
	"context"
	"sort"

	"github.com/goestimator/goestimator/tensor"
)

// A Hook is called at fixed points of a training, evaluation or prediction loop,
// the same as tf.estimator.SessionRunHook. Embed Base to implement only some
// methods.
type Hook interface {
	// Begin is called once, before the program is compiled: request tensors here.
	Begin(s Setup) error
	// AfterCreateSession is called once variables have their values, before the first step.
	AfterCreateSession(ctx context.Context, r Run) error
	// BeforeRun is called before each step.
	BeforeRun(ctx context.Context, r Run) error
	// AfterRun is called after each step; requested tensors have the step's values.
	AfterRun(ctx context.Context, r Run) error
	// End is called when the loop ends without an error.
	End(ctx context.Context, r Run) error
}

// Setup lets a hook prepare the program of a loop.
type Setup interface {
	// Fetch asks for a tensor in every step: "loss", "learning_rate", or the
	// TensorFlow name of an output ("dense/Relu:0", or "dense/Relu" for output 0).
	// It fails if there is no such tensor.
	Fetch(name string) error
	// Mode is "train", "eval" or "infer".
	Mode() string
	// IsChief reports whether this task writes checkpoints and summaries.
	IsChief() bool
}

// Run is a running loop.
type Run interface {
	// GlobalStep returns the number of training steps done, over all runs of the model.
	GlobalStep() int64
	// Value returns the value in the last step of a tensor that was requested in
	// Begin. It is valid until the next step begins.
	Value(name string) (*tensor.Tensor, error)
	// BatchSize returns the number of examples of the last step.
	BatchSize() int
	// RequestStop ends the loop after this step; the loop reports the first reason.
	RequestStop(reason string)
	// StopRequested reports whether the loop is about to end.
	StopRequested() bool
}

// Base has the methods of a Hook that does nothing.
type Base struct{}

// Begin does nothing.
func (Base) Begin(Setup) error { return nil }

// AfterCreateSession does nothing.
func (Base) AfterCreateSession(context.Context, Run) error { return nil }

// BeforeRun does nothing.
func (Base) BeforeRun(context.Context, Run) error { return nil }

// AfterRun does nothing.
func (Base) AfterRun(context.Context, Run) error { return nil }

// End does nothing.
func (Base) End(context.Context, Run) error { return nil }

// Prioritized is a Hook with another priority than PriorityDefault.
type Prioritized interface{ Priority() int }

// The priorities of the framework's own hooks.
const (
	PriorityGuard   = -100 // NaN checks: before anything is written
	PriorityDefault = 0
	PriorityWrite   = 100 // loggers and summaries
	PrioritySave    = 200 // checkpoints, and their evaluations
	PriorityStop    = 300 // what evaluations decide, last
)

// Stateful is a Hook whose state is saved in checkpoints under its StateKey, and
// restored before AfterCreateSession when training resumes.
type Stateful interface {
	StateKey() string
	MarshalBinary() ([]byte, error)
	UnmarshalBinary(data []byte) error
}

// Sort returns the hooks in the order in which they run: by priority, then as given.
func Sort(hs []Hook) []Hook {
	out := append([]Hook(nil), hs...)
	sort.SliceStable(out, func(i, j int) bool { return priority(out[i]) < priority(out[j]) })
	return out
}

func priority(h Hook) int {
	if p, ok := h.(Prioritized); ok {
		return p.Priority()
	}
	return PriorityDefault
}
