package distribute

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// replicatedInference runs a program that changes no variable on all local replicas.
type replicatedInference struct {
	replicas []inferringReplica
	limit    int // on replicas that compute at the same time; 0: none
}

// inferringReplica is a program on one device.
type inferringReplica struct {
	program *engine.Program
	mirror  *mirror     // nil if the program reads the strategy's variables
	ahead   *aheadQueue // nil: the device is no accelerator
}

var (
	_ Uploader      = (*replicatedInference)(nil)
	_ Stepper       = (*replicatedInference)(nil)
	_ replicaValues = (*replicatedInference)(nil)
)

func newReplicatedInference(r *replicated, p Program) (*replicatedInference, error) {
	s := &replicatedInference{limit: r.config.InterOp}
	for i := range r.replicas {
		at, elsewhere := r.owner(i)
		opts := r.config.options()
		opts.Profile = p.Profile && i == 0 // only the first one profiles
		x, vars := inferringReplica{}, r.copies[at]
		var err error
		if elsewhere {
			if x.mirror, err = newMirror(vars, r.compute[i], p.Fetches); err != nil {
				return nil, errors.Join(err, s.Close())
			}
			vars = x.mirror.copies
		}
		x.program, err = engine.Compile(p.Graph, engine.Spec{Feeds: p.Feeds, Fetches: p.Fetches}, r.compute[i], vars, opts)
		if accelerates(r.compute[i]) {
			x.ahead = &aheadQueue{program: x.program}
		}
		s.replicas = append(s.replicas, x)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Step runs the replicas that have a batch, in parallel.
func (s *replicatedInference) Step(ctx context.Context, in Step) (Outcome, error) {
	if n := len(in.Batches); n == 0 || n > len(s.replicas) {
		return Outcome{}, fmt.Errorf("step: expected 1 to %d batches, got %d", len(s.replicas), n)
	}
	return Outcome{}, together(len(in.Batches), s.limit, func(i int) error { return s.replicas[i].run(ctx, in.Batches[i]) })
}

func (x inferringReplica) run(ctx context.Context, b Batch) error {
	if x.mirror != nil {
		if err := x.mirror.refresh(); err != nil {
			return err
		}
	}
	if x.ahead == nil {
		return x.program.Run(ctx, b.Rows, b.Feeds)
	}
	a, err := x.ahead.take(b)
	if err != nil {
		return err
	}
	return x.program.RunAhead(ctx, a)
}

// Ahead implements Prefetcher.
func (s *replicatedInference) Ahead() int {
	if s.replicas[0].ahead == nil {
		return 0
	}
	return stepsAhead
}

// Prefetch begins to copy the batches of a step to their devices.
func (s *replicatedInference) Prefetch(_ context.Context, batches []Batch) error {
	var errs []error
	for i, b := range batches {
		errs = append(errs, s.replicas[i].ahead.prefetch(b))
	}
	return errors.Join(errs...)
}

// Forget implements Uploader.
func (s *replicatedInference) Forget() error {
	var errs []error
	for _, x := range s.replicas {
		if x.ahead != nil {
			errs = append(errs, x.ahead.forget())
		}
	}
	return errors.Join(errs...)
}

// Value returns a fetch of the first replica.
func (s *replicatedInference) Value(i int) *tensor.Tensor { return s.replicaValue(0, i) }

func (s *replicatedInference) replicaValue(replica, i int) *tensor.Tensor {
	return s.replicas[replica].program.Value(i)
}

// LearningRate is 0.
func (s *replicatedInference) LearningRate() float64 { return 0 }

// Profile returns the times of the first replica.
func (s *replicatedInference) Profile() []NodeTime { return s.replicas[0].program.Profile() }

// Close frees the programs.
func (s *replicatedInference) Close() error {
	errs := []error{s.Forget()}
	for _, x := range s.replicas {
		if x.program != nil {
			errs = append(errs, x.program.Close())
		}
		if x.mirror != nil {
			errs = append(errs, x.mirror.copies.Close())
		}
	}
	return errors.Join(errs...)
}
