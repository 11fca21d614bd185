package distribute

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// workerInference runs a program on values that it pulls from the parameter servers.
type workerInference struct {
	strategy *parameterServer
	program  *engine.Program
	lookups  *lookups
	mirror   *ps.Mirror // of the variables that are read whole
	feeds    []*tensor.Tensor
}

var _ Stepper = (*workerInference)(nil)

func newWorkerInference(p *parameterServer, x Program) (*workerInference, error) {
	s := &workerInference{strategy: p}
	var err error
	table := func(name string) bool {
		t, ok := p.vars.Type(name)
		return ok && len(t.Shape.Dims) > 1
	}
	if s.lookups, err = newLookups(x, lookupsIn(x.Fetches, table)); err != nil {
		return nil, err
	}
	spec := engine.Spec{Feeds: x.Feeds[:len(x.Feeds):len(x.Feeds)], Fetches: x.Fetches}
	for _, l := range s.lookups.list {
		spec.Feeds = append(spec.Feeds, l.rows)
	}
	if s.mirror, err = p.mirrorOf(x.Fetches, s.lookups.fed(nil)); err == nil {
		opts := p.config.options()
		opts.Profile = x.Profile
		s.program, err = engine.Compile(x.Graph, spec, p.dev, p.copies, opts)
	}
	if err != nil {
		return nil, errors.Join(err, s.lookups.close())
	}
	return s, nil
}

// Step pulls and computes.
func (s *workerInference) Step(ctx context.Context, in Step) (Outcome, error) {
	if len(in.Batches) != 1 {
		return Outcome{}, fmt.Errorf("step: expected one batch, got %d", len(in.Batches))
	}
	b := in.Batches[0]
	if err := s.lookups.pull(ctx, s.strategy.client, b); err != nil {
		return Outcome{}, recoverable(ctx, err)
	}
	if _, err := s.strategy.pull(ctx, s.mirror, len(s.mirror.Names()) == 0); err != nil {
		return Outcome{}, recoverable(ctx, err)
	}
	s.feeds = append(append(s.feeds[:0], b.Feeds...), s.lookups.rows...)
	return Outcome{}, s.program.Run(ctx, b.Rows, s.feeds)
}

// Value returns a fetch of the last step.
func (s *workerInference) Value(i int) *tensor.Tensor { return s.program.Value(i) }

// LearningRate is 0.
func (s *workerInference) LearningRate() float64 { return 0 }

// Profile returns the times of the program.
func (s *workerInference) Profile() []NodeTime { return s.program.Profile() }

// Close frees the programs.
func (s *workerInference) Close() error { return errors.Join(s.program.Close(), s.lookups.close()) }
