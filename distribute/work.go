package distribute

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/inputs"
	strategies "github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distributed/remote"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// Work runs the functions that the chief's Coordinator schedules, until the Coordinator is
// closed or the job has ended. If ctx ends first, the error wraps ErrInterrupted. Do not use the
// strategy meanwhile. A worker that is started again calls Work again.
func (s *Strategy) Work(ctx context.Context) error {
	if err := s.scheduled(); err != nil {
		return fmt.Errorf("work: %w", err)
	}
	if s.config.TaskType() != runconfig.Worker {
		return fmt.Errorf("work: task %s/%d runs no functions: a chief makes a Coordinator", s.config.TaskType(), s.config.TaskID())
	}
	err := s.work(ctx)
	var end *strategies.EndError
	switch {
	case err == nil, errors.As(err, &end) && end.Code == 0:
		return nil
	case ctx.Err() != nil && !errors.Is(err, ErrPeerLost):
		s.interrupted = true
		return fmt.Errorf("work: %w: %w", ErrInterrupted, err)
	}
	return fmt.Errorf("work: %w", err)
}

func (s *Strategy) work(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if _, err := s.Restore(ctx); err != nil {
		return err
	}
	if s.worked {
		return errors.New("it has run functions before: start the process again")
	}
	s.worked = true
	return s.job.RunFunctions(ctx, &executor{strategy: s, end: cancel})
}

// scheduled returns an error if the strategy cannot run functions for a Coordinator.
func (s *Strategy) scheduled() error {
	if s.job == nil || s.Name() != "parameter_server" {
		return fmt.Errorf("strategy %s: a Coordinator needs parameter_server in a cluster with a chief, workers and ps tasks", s.Name())
	}
	if s.config.TrainDistribute().Sync {
		return errors.New("strategy.sync: the steps of a Coordinator's workers are asynchronous: leave it out")
	}
	return nil
}

// executor runs functions of a strategy.
type executor struct {
	strategy  *Strategy
	end       context.CancelCauseFunc // of Work
	resources map[int]resource
}

// resource is what this worker made for a PerWorker, or the error.
type resource struct {
	value any
	drop  func() error
	err   error
}

var _ remote.Executor = (*executor)(nil)

// Begin brings the strategy to the state of the job.
func (e *executor) Begin(ctx context.Context) error {
	e.resources = map[int]resource{}
	_, err := e.strategy.Restore(ctx)
	if errors.As(err, new(*strategies.EndError)) {
		e.end(err)
	}
	return fault(err)
}

// fault marks errors of functions saying that variables were lost.
func fault(err error) error {
	if errors.Is(err, ErrSessionLost) || errors.Is(err, ErrPeerLost) {
		return fmt.Errorf("%w: %w", ErrServersLost, err)
	}
	return err
}

// Make makes a resource; functions that use it get its error.
func (e *executor) Make(ctx context.Context, number int, name string) error {
	e.resources[number] = e.made(ctx, name)
	return nil
}

func (e *executor) made(ctx context.Context, name string) (r resource) {
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("%q: panic: %v", name, p)
		}
	}()
	m := e.strategy.remotes.makers[name]
	if m == nil {
		return resource{err: fmt.Errorf("no data set or value %q: expected one of %q", name, sortedKeys(e.strategy.remotes.makers))}
	}
	if r.value, r.drop, r.err = m.make(ctx, e.strategy.workerContext()); r.err != nil {
		r.err = fmt.Errorf("%q: %w", name, r.err)
	}
	return r
}

// workerContext describes the share of the data for a Coordinator's worker. The chief has none.
func (s *Strategy) workerContext() inputs.Context {
	workers := len(s.config.ClusterSpec().Tasks(runconfig.Worker))
	return inputs.Context{Pipeline: s.config.TaskID(), NumPipelines: max(workers, 1), ReplicasInSync: 1, Seed: s.seed}
}

// Run runs a function.
func (e *executor) Run(ctx context.Context, c remote.Call) ([]*tensor.Tensor, error) {
	f := e.strategy.remotes.functions[c.Function]
	if f == nil {
		return nil, fmt.Errorf("no function %q: expected one of %q", c.Function, sortedKeys(e.strategy.remotes.functions))
	}
	call := &RemoteCall{}
	for i, a := range c.Args {
		if a.Resource == 0 {
			call.args = append(call.args, a.Tensor)
			continue
		}
		r, ok := e.resources[a.Resource]
		if !ok {
			r.err = fmt.Errorf("number %d was not made", a.Resource)
		}
		if r.err != nil {
			return nil, fmt.Errorf("function %s: argument %d: %w", c.Function, i, r.err)
		}
		call.args = append(call.args, r.value)
	}
	results, err := f.run(ctx, call)
	if err != nil {
		return nil, fault(fmt.Errorf("function %s: %w", c.Function, err))
	}
	return results, nil
}

// End drops all resources.
func (e *executor) End() {
	for _, r := range e.resources {
		if r.err != nil {
			continue
		}
		if err := r.drop(); err != nil {
			e.strategy.log.Warn("what a worker had made was not freed", "error", err)
		}
	}
	e.resources = nil
}
