package distribute

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/remote"
	"github.com/goestimator/goestimator/tensor"
)

// Coordinator schedules functions on the workers of a parameter_server strategy, like
// TensorFlow's ClusterCoordinator. The chief makes it; workers call Strategy.Work. Each
// worker runs one function at a time. A function runs at least once: if its worker is
// lost, another worker runs it again. A Coordinator is safe for concurrent use.
//
// After the first error of a function all other functions are cancelled; the error of their
// values is ErrCancelled. Once running functions have ended, the next Schedule, Join or
// Done returns the first error. After that, functions can be scheduled again. If a parameter
// server was lost, the error wraps ErrServersLost, and the chief must call Strategy.Restore first.
type Coordinator struct {
	strategy *Strategy
	inner    *remote.Coordinator
}

// PerWorker is a value that each worker makes for itself. As an argument of a function it
// stands for the value of the worker that runs the function.
type PerWorker struct {
	of     *Coordinator
	number int
	err    error // why there is none; each Schedule with it returns the error
}

// RemoteValue is the future result of a scheduled function.
type RemoteValue struct{ inner *remote.Value }

// NewCoordinator returns the Coordinator of a strategy, which may have only one. It first
// restores the strategy, unless that was done. Close it before the strategy.
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

// CreatePerWorkerDataset lets each worker make a data set for itself, before it runs
// functions that are scheduled next, and again whenever the worker was lost. If making it
// fails, functions that use it fail with that error. If d is not of the Coordinator's
// strategy, Schedule returns an error.
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

// Schedule queues a function with its arguments: *tensor.Tensor, which are copied, and
// *PerWorker. It blocks while 256 * 1024 functions are queued, until ctx ends.
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

// Done reports whether all functions have ended. It does not block: while functions are
// being cancelled after an error, it returns false, and the error only later.
func (c *Coordinator) Done() (bool, error) { return c.inner.Done() }

// Fetch waits for values, also of another Coordinator, and returns the tensors of each in order, or the first error.
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

// Close cancels all functions, waits for running ones until ctx ends, and ends
// Strategy.Work on the connected workers.
func (c *Coordinator) Close(ctx context.Context) error { return c.inner.Close(ctx) }

// Fetch waits for the function to end and returns its tensors, or its error.
func (v *RemoteValue) Fetch(ctx context.Context) ([]*tensor.Tensor, error) {
	if v == nil || v.inner == nil {
		return nil, errors.New("fetch: expected what Schedule returned")
	}
	return v.inner.Fetch(ctx)
}

// Ready reports whether the function has ended, so that Fetch does not block.
func (v *RemoteValue) Ready() bool { return v != nil && v.inner != nil && v.inner.Ready() }
