package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// session is a training on a device.
type session struct {
	t     *training
	vars  *engine.Variables
	p     *engine.Program
	feeds func(step int) []*tensor.Tensor // nil: the data is resident
	step  int
}

// start compiles a training for a device and creates its variables. Without feeds the data must be resident.
func (t *training) start(dev device.Device, how engine.Precision, feeds func(step int) []*tensor.Tensor) (*session, error) {
	vars, err := t.variables(dev, feeds == nil)
	if err != nil {
		return nil, err
	}
	p, err := engine.Compile(t.graph, t.spec, dev, vars, engine.Options{Capacity: t.k.Batch, Precision: how})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", t.k.Name, err), vars.Close())
	}
	return &session{t: t, vars: vars, p: p, feeds: feeds}, nil
}

func (s *session) next() []*tensor.Tensor {
	s.step++
	if s.feeds == nil {
		return nil
	}
	return s.feeds(s.step - 1)
}

// losses runs n steps and returns the loss of each.
func (s *session) losses(ctx context.Context, n int) ([]float64, error) {
	var out []float64
	for range n {
		if err := s.p.Run(ctx, s.t.k.Batch, s.next()); err != nil {
			return nil, err
		}
		out = append(out, s.p.Value(0).Float(0))
	}
	return out, nil
}

// steps runs n steps as fast as possible: batches are uploaded ahead, and runs follow each other without waiting for the host.
func (s *session) steps(ctx context.Context, n int) error {
	const ahead = 2
	var queue []*engine.Ahead
	for i := range n + ahead {
		if i >= ahead {
			if err := s.p.Enqueue(ctx, queue[0]); err != nil {
				return err
			}
			queue = queue[1:]
		}
		if i < n {
			a, err := s.p.Ahead(s.t.k.Batch, s.next())
			if err != nil {
				return err
			}
			queue = append(queue, a)
		}
	}
	return s.p.Wait()
}

func (s *session) close() error { return errors.Join(s.p.Close(), s.vars.Close()) }
