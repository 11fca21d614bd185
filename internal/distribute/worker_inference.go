package distribute

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// workerInference runs a program on each device of the worker, with values pulled from the parameter servers.
type workerInference struct {
	strategy *parameterServer
	programs []*engine.Program // by replica
	feeds    [][]*tensor.Tensor
	lookups  workerLookups
	mirror   *ps.Mirror // of variables that are read whole
}

var (
	_ Stepper       = (*workerInference)(nil)
	_ replicaValues = (*workerInference)(nil)
)

func newWorkerInference(p *parameterServer, x Program) (*workerInference, error) {
	s := &workerInference{strategy: p, feeds: make([][]*tensor.Tensor, len(p.devs))}
	var err error
	table := func(name string) bool {
		t, ok := p.vars.Type(name)
		return ok && len(t.Shape.Dims) > 1
	}
	if s.lookups, err = newWorkerLookups(x, lookupsIn(x.Fetches, table), len(p.devs)); err != nil {
		return nil, err
	}
	if s.mirror, err = p.mirrorOf(x.Fetches, s.lookups.fed(nil)); err == nil {
		err = s.compile(x)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// compile compiles the program for each device.
func (s *workerInference) compile(x Program) error {
	spec := engine.Spec{Feeds: x.Feeds[:len(x.Feeds):len(x.Feeds)], Fetches: x.Fetches}
	for _, l := range s.lookups.list() {
		spec.Feeds = append(spec.Feeds, l.rows)
	}
	opts := s.strategy.config.options()
	opts.Profile = x.Profile
	for i, dev := range s.strategy.devs {
		program, err := engine.Compile(x.Graph, spec, dev, s.strategy.copies.of(i), opts)
		if err != nil {
			return err
		}
		s.programs = append(s.programs, program)
		opts.Profile = false // only the first one profiles
	}
	return nil
}

// Step pulls and computes.
func (s *workerInference) Step(ctx context.Context, in Step) (Outcome, error) {
	if n := len(in.Batches); n == 0 || n > len(s.programs) {
		return Outcome{}, fmt.Errorf("step: expected 1 to %d batches, got %d", len(s.programs), n)
	}
	if err := s.lookups.pull(ctx, s.strategy.client, in.Batches); err != nil {
		return Outcome{}, recoverable(ctx, err)
	}
	if _, err := s.strategy.pull(ctx, s.mirror, len(s.mirror.Names()) == 0); err != nil {
		return Outcome{}, recoverable(ctx, err)
	}
	return Outcome{}, together(len(in.Batches), s.strategy.config.InterOp, func(i int) error {
		b := in.Batches[i]
		s.feeds[i] = append(append(s.feeds[i][:0], b.Feeds...), s.lookups[i].rows...)
		return s.programs[i].Run(ctx, b.Rows, s.feeds[i])
	})
}

// Value returns a fetch of the last step, of the first replica.
func (s *workerInference) Value(i int) *tensor.Tensor { return s.replicaValue(0, i) }

func (s *workerInference) replicaValue(replica, i int) *tensor.Tensor {
	return s.programs[replica].Value(i)
}

// LearningRate is 0.
func (s *workerInference) LearningRate() float64 { return 0 }

// Profile returns the times of the first replica's program.
func (s *workerInference) Profile() []NodeTime { return s.programs[0].Profile() }

// Close frees the programs.
func (s *workerInference) Close() error {
	var errs []error
	for _, p := range s.programs {
		errs = append(errs, p.Close())
	}
	return errors.Join(append(errs, s.lookups.close())...)
}
