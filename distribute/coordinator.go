package distribute

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/remote"
	"github.com/goestimator/goestimator/tensor"
)

// Coordinator schedules functions on the workers of a parameter_server strategy, as
// TensorFlow's ClusterCoordinator does. The chief makes it; workers call Strategy.Work.
// Each worker runs one function at a time, and a function is run at least once: again,
// by some worker, where its worker was lost. Its methods may be called by several goroutines.
//
// The first error of a function is returned by the next Schedule, Join or Done, after
// all other functions were cancelled, and those that ran have ended. The values of these have
// the error ErrCancelled. Then functions can be scheduled again. Where a parameter server was lost
// that error wraps ErrServersLost: the chief calls Strategy.Restore first.
type Coordinator struct {
	strategy *Strategy
	inner    *remote.Coordinator
}

// PerWorker is what each worker made for itself. As an argument of a function it is
// the part of the worker that runs it.
type PerWorker struct {
	of     *Coordinator
	number int
	err    error // why there is none: of each Schedule with it
}

// RemoteValue is what a scheduled function will return.
type RemoteValue struct{ inner *remote.Value }

// NewCoordinator returns the Coordinator of a strategy, which has one. Where the
// strategy has no values yet, it is restored first. Close it before the strategy.
func NewCoordinator(ctx context.Context, s *Strategy) (*Coordinator, error) {
	if s == nil {
		return nil, errors.New("coordinator: expected a strategy")
	}
	if err := s.coordinate(ctx); err != nil {
		return nil, fmt.Errorf("coordinator: %w", err)
	}
	s.coordinated = true
	return &Coordinator{s, remote.Start(s.job.FunctionWorkers(), remote.Options{Log: s.log})}, nil
}

// coordinate makes a strategy ready for a Coordinator.
func (s *Strategy) coordinate(ctx context.Context) error {
	if err := s.scheduled(); err != nil {
		return err
	}
	switch {
	case s.closed:
		return errClosed
	case !s.IsChief():
		return fmt.Errorf("task %s/%d is not the chief: workers call Strategy.Work", s.config.TaskType(), s.config.TaskID())
	case s.coordinated:
		return errors.New("the strategy has one already")
	case len(s.job.FunctionWorkers()) == 0:
		return errors.New("the cluster has no workers besides the chief")
	case s.ready:
		return nil
	}
	_, err := s.Restore(ctx)
	return err
}

// CreatePerWorkerDataset lets each worker make a data set for itself, before the
// functions that are scheduled next, and again whenever it was lost. Functions that
// use it fail with the error of making it. Where d is none of the Coordinator's strategy
// Schedule says so.
func (c *Coordinator) CreatePerWorkerDataset(d *WorkerDataset) *PerWorker {
	if d == nil {
		return c.perWorker(nil)
	}
	return c.perWorker(d.maker)
}

// CreatePerWorkerValue is CreatePerWorkerDataset for values.
func (c *Coordinator) CreatePerWorkerValue(v *WorkerValue) *PerWorker {
	if v == nil {
		return c.perWorker(nil)
	}
	return c.perWorker(v.maker)
}

func (c *Coordinator) perWorker(m *maker) *PerWorker {
	if m == nil || c.strategy.remotes.makers[m.name] != m {
		return &PerWorker{of: c, err: errors.New("expected what WorkerDataset or WorkerValue of the Coordinator's strategy returned")}
	}
	return &PerWorker{of: c, number: c.inner.AddResource(m.name)}
}

// Schedule queues a function with its arguments: copies of each *tensor.Tensor, and
// *PerWorker. It waits while 256 * 1024 functions are queued, until ctx ends.
func (c *Coordinator) Schedule(ctx context.Context, fn *Remote, args ...any) (*RemoteValue, error) {
	if fn == nil || c.strategy.remotes.functions[fn.name] != fn {
		return nil, errors.New("schedule: expected what Remote of the Coordinator's strategy returned")
	}
	call := remote.Call{Function: fn.name}
	for i, a := range args {
		arg, err := c.argument(a)
		if err != nil {
			return nil, fmt.Errorf("schedule %s: argument %d: %w", fn.name, i, err)
		}
		call.Args = append(call.Args, arg)
	}
	v, err := c.inner.Schedule(ctx, call)
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %w", fn.name, err)
	}
	return &RemoteValue{v}, nil
}

func (c *Coordinator) argument(a any) (remote.Arg, error) {
	switch a := a.(type) {
	case *tensor.Tensor:
		if err := remote.Check(a); err != nil {
			return remote.Arg{}, err
		}
		return remote.Arg{Tensor: a.Clone()}, nil
	case *PerWorker:
		if a == nil || a.of != c {
			return remote.Arg{}, errors.New("expected what this coordinator has created on each worker")
		}
		return remote.Arg{Resource: a.number}, a.err
	case *RemoteValue:
		return remote.Arg{}, errors.New("a value that functions will return: fetch it first")
	}
	return remote.Arg{}, fmt.Errorf("a %T: expected a *tensor.Tensor or a *PerWorker", a)
}

// Join waits until all functions have ended.
func (c *Coordinator) Join(ctx context.Context) error {
	if err := c.inner.Join(ctx); err != nil {
		return fmt.Errorf("join: %w", err)
	}
	return nil
}

// Done reports whether all functions have ended. It does not wait: while functions
// are being ended for an error of another it is false, and that error comes later.
func (c *Coordinator) Done() (bool, error) { return c.inner.Done() }

// Fetch waits for values, which may be another Coordinator's, and returns the tensors of each in order, or the first
// error.
func (c *Coordinator) Fetch(ctx context.Context, values ...*RemoteValue) ([][]*tensor.Tensor, error) {
	out := make([][]*tensor.Tensor, len(values))
	for i, v := range values {
		var err error
		if out[i], err = v.Fetch(ctx); err != nil {
			return nil, fmt.Errorf("fetch value %d of %d: %w", i, len(values), err)
		}
	}
	return out, nil
}

// Close cancels all functions, waits for those that run, until ctx ends, and ends
// Strategy.Work on the workers that are there.
func (c *Coordinator) Close(ctx context.Context) error { return c.inner.Close(ctx) }

// Fetch waits for the function's end and returns its tensors, or its error.
func (v *RemoteValue) Fetch(ctx context.Context) ([]*tensor.Tensor, error) {
	if v == nil || v.inner == nil {
		return nil, errors.New("fetch: expected what Schedule returned")
	}
	return v.inner.Fetch(ctx)
}

// Ready reports whether the function has ended, so that Fetch does not wait.
func (v *RemoteValue) Ready() bool { return v != nil && v.inner != nil && v.inner.Ready() }
