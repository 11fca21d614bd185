package remote

import (
	"context"

	"github.com/goestimator/goestimator/tensor"
)

// Call is a function to run, by its name, and its arguments.
type Call struct {
	Function string
	Args     []Arg
}

// Arg is a tensor, or a resource of the worker that runs the function.
type Arg struct {
	Tensor   *tensor.Tensor
	Resource int // its number, from 1; 0: Tensor is set
}

// Value is the future result of a call.
type Value struct {
	call   Call          // without arguments once it has ended, as callers may keep many values
	lost   int           // workers lost while they ran it; guarded by the queue's mu
	done   chan struct{} // closed when result and err are set
	result []*tensor.Tensor
	err    error
}

func newValue(c Call) *Value { return &Value{call: c, done: make(chan struct{})} }

// finish sets the outcome, once, and drops the arguments; the queue's mu is held.
func (v *Value) finish(result []*tensor.Tensor, err error) {
	v.call.Args = nil
	v.result, v.err = result, err
	close(v.done)
}

// Fetch waits for the end of the call or of ctx, and returns the call's results or
// error.
func (v *Value) Fetch(ctx context.Context) ([]*tensor.Tensor, error) {
	select {
	case <-v.done:
		return v.result, v.err
	default:
	}
	select {
	case <-v.done:
		return v.result, v.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Ready reports whether the call has ended.
func (v *Value) Ready() bool {
	select {
	case <-v.done:
		return true
	default:
		return false
	}
}
