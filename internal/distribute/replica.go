package distribute

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// replica computes the loss and gradients of one batch. It changes no variable.
type replica struct {
	program *engine.Program
	layout  *layout
	dev     device.Device
	vars    *engine.Variables // of the strategy
	mirror  *mirror           // nil if the program reads vars
	number  int64             // number of the replica over all tasks
	feeds   []*tensor.Tensor
	ahead   *aheadQueue // nil if the device is no accelerator
}

// compileReplica compiles the gradient program of a replica on a device. Ready, if not nil,
// is called for each dense result as soon as it is complete.
func compileReplica(p TrainProgram, l *layout, dev device.Device, o replicaOptions) (*replica, error) {
	r := &replica{layout: l, dev: dev, vars: o.variables, number: o.number}
	spec := engine.Spec{Feeds: p.Feeds, Fetches: l.fetches}
	if r.number > 0 {
		spec.Feeds = append(spec.Feeds[:len(spec.Feeds):len(spec.Feeds)], p.GlobalStep)
	}
	opts := o.options
	opts.Profile = p.Profile
	if o.ready != nil {
		index := map[int]int{}
		for i, f := range l.dense {
			index[f] = i
		}
		opts.OnFetch = func(f int) {
			if i, ok := index[f]; ok {
				o.ready(i)
			}
		}
	}
	vars := r.vars
	var err error
	if o.elsewhere {
		if r.mirror, err = newMirror(r.vars, dev, spec.Fetches); err != nil {
			return nil, err
		}
		vars = r.mirror.copies
	}
	if r.program, err = engine.Compile(p.Graph, spec, dev, vars, opts); err != nil {
		return nil, errors.Join(err, r.close())
	}
	if accelerates(dev) {
		r.ahead = &aheadQueue{program: r.program, late: len(spec.Feeds) - len(p.Feeds)}
	}
	return r, nil
}

type replicaOptions struct {
	number    int64
	options   engine.Options
	variables *engine.Variables
	elsewhere bool // the variables are on another device than the replica
	ready     func(dense int)
}

// run computes one batch. Random ops differ between replicas: they depend on the global
// step, whose upper bits get the replica's number.
func (r *replica) run(ctx context.Context, b Batch) error {
	if err := r.compute(ctx, b); err != nil {
		return fmt.Errorf("replica %d: %w", r.number, err)
	}
	return nil
}

func (r *replica) compute(ctx context.Context, b Batch) error {
	step, err := r.step()
	if err != nil {
		return err
	}
	if r.mirror != nil {
		if err := r.mirror.refresh(); err != nil {
			return err
		}
	}
	if r.ahead == nil {
		r.feeds = append(append(r.feeds[:0], b.Feeds...), step...)
		return r.program.Run(ctx, b.Rows, r.feeds)
	}
	a, err := r.ahead.take(b)
	if err != nil {
		return err
	}
	for i, t := range step {
		a.Set(len(b.Feeds)+i, t)
	}
	return r.program.RunAhead(ctx, a)
}

// step returns the global step in the form that the replica's program takes; nothing if the program reads it.
func (r *replica) step() ([]*tensor.Tensor, error) {
	if r.number == 0 {
		return nil, nil
	}
	step, err := r.vars.Get(GlobalStep)
	if err != nil {
		return nil, err
	}
	tensor.Values[int64](step)[0] |= r.number << 40
	return []*tensor.Tensor{step}, nil
}

// forget drops the batches that were copied ahead.
func (r *replica) forget() error {
	if r.ahead == nil {
		return nil
	}
	return r.ahead.forget()
}

// placement returns where the program runs.
func (r *replica) placement() Placement { return placementOf(r.program, r.dev) }

func (r *replica) close() error {
	var errs []error
	if r.program != nil {
		errs = append(errs, r.forget(), r.program.Close())
	}
	if r.mirror != nil {
		errs = append(errs, r.mirror.copies.Close())
	}
	return errors.Join(errs...)
}

// dense returns dense result i of the last run.
func (r *replica) dense(i int) *tensor.Tensor { return r.program.Value(r.layout.dense[i]) }

// sparse returns rows and ids of sparse gradient i of the last run.
func (r *replica) sparse(i int) (rows, ids *tensor.Tensor) {
	at := r.layout.sparse[i]
	return r.program.Value(at.rows), r.program.Value(at.ids)
}
