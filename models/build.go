package models

import (
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Options configure a Builder.
type Options struct {
	Mode  Mode
	Batch int          // rows of the stand-in batch, >= 1
	Seed  int64        // of initial values and random ops
	DType tensor.DType // Float32 (default) or Float64
	// Frozen reports whether training leaves a variable unchanged; nil: none.
	Frozen func(variable string) bool
}

// construction is held while a graph is built: Gorgonia has a package global on which
// parallel construction would race.
var construction sync.Mutex

// PanicError is a panic of a model_fn, or of Gorgonia called by it.
type PanicError struct {
	Value any
	Stack []byte
}

// Error describes the panic.
func (e *PanicError) Error() string { return fmt.Sprintf("building the model panicked: %v", e.Value) }

// Build runs fn on a new Builder and returns the Builder. Errors recorded by the
// Builder take precedence over fn's own; a panic in fn becomes a *PanicError.
func Build(o Options, fn func(b *Builder) error) (b *Builder, err error) {
	if o.Batch < 1 {
		return nil, fmt.Errorf("build: batch %d: expected >= 1", o.Batch)
	}
	if o.DType == tensor.Invalid {
		o.DType = tensor.Float32
	}
	if o.DType != tensor.Float32 && o.DType != tensor.Float64 {
		return nil, fmt.Errorf("build: type %v: expected float32 or float64", o.DType)
	}
	construction.Lock()
	defer construction.Unlock()
	b = &Builder{opts: o, graph: G.NewGraph(), used: map[string]int{},
		byName: map[string]*Variable{}, byNode: map[*G.Node]*Variable{}}
	err = guard(func() error { return fn(b) })
	if b.err != nil {
		return nil, b.err // the cause of what fn returns
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

func guard(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{r, debug.Stack()}
		}
	}()
	return fn()
}
