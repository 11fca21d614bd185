package distribute

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	strategies "github.com/goestimator/goestimator/internal/distribute"
)

// Result is the result of a run of a function, valid until the function runs again.
type Result struct {
	function *Function
	parts    int  // local replicas that had data
	applied  bool // a step was made
}

// Run runs the function on all local replicas. A training function makes one step on this
// task's batch. In lock step all tasks run it, and the step is on all their batches; a task
// without data passes a batch without parts. If Restore was not called, variables start with
// their initial values.
func (f *Function) Run(ctx context.Context, b Batch) (*Result, error) {
	s := f.strategy
	if s.closed {
		return nil, fmt.Errorf("function %s: %w", f.name, errClosed)
	}
	if !s.ready {
		if err := s.synchronize(ctx, nil); err != nil {
			return nil, err
		}
	}
	if err := f.stage(b); err != nil {
		return nil, fmt.Errorf("function %s: %w", f.name, err)
	}
	f.result.parts, f.result.applied = len(f.parts), false
	var err error
	if f.trains() {
		err = f.train(ctx)
	} else if len(f.parts) > 0 {
		_, err = f.stepper.Step(ctx, strategies.Step{Batches: f.parts})
	}
	if err == nil || f.result.applied { // the step was made, and training was interrupted
		if merr := f.updateMetrics(ctx); merr != nil {
			err = errors.Join(err, merr)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", f.name, err)
	}
	return &f.result, nil
}

// stage puts the parts of a batch in the order of the arguments, unless that was done.
func (f *Function) stage(b Batch) (err error) {
	if n := f.strategy.LocalReplicas(); len(b) > n {
		return fmt.Errorf("%d parts: expected at most %d, one for each local replica", len(b), n)
	}
	if it := f.strategy.current(b); it != nil {
		if !slices.Contains(it.used, f) {
			it.used = append(it.used, f)
		}
		if parts, ok := it.now.take(f, b); ok {
			f.parts = parts
			return nil
		}
	}
	f.own, err = f.feeds(b, f.own)
	f.parts = f.own
	return err
}

// feeds puts the parts of a batch in the order of the arguments.
func (f *Function) feeds(b Batch, parts []strategies.Batch) ([]strategies.Batch, error) {
	for len(parts) < len(b) {
		parts = append(parts, strategies.Batch{})
	}
	parts = parts[:len(b)]
	for i, part := range b {
		to := &parts[i]
		var err error
		if to.Rows, to.Feeds, err = feed(f.traced.args, part, to.Feeds); err != nil {
			return parts, fmt.Errorf("part %d: %w", i, err)
		}
	}
	return parts, nil
}

// train makes one step.
func (f *Function) train(ctx context.Context) error {
	s := f.strategy
	if s.over {
		return &strategies.EndError{End: strategies.End{GlobalStep: s.step, Sure: true}}
	}
	step := strategies.Step{Batches: f.parts, Waiting: ctx}
	if s.asynchronous() {
		step.Position = s.position
	}
	switch {
	case ctx.Err() != nil && (len(f.parts) == 0 && !s.lockstep() || s.asynchronous()):
		s.interrupted = true
		return fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(ctx))
	case ctx.Err() != nil: // the others do not know yet, and the input's position is already after the batch
		step.Stop = strategies.Interrupted
	case len(f.parts) == 0 && !s.lockstep():
		s.runs, s.more = s.runs+1, false
		return nil
	}
	if s.first == nil {
		s.first = f
	}
	out, err := f.stepper.Step(context.WithoutCancel(ctx), step) // a step that has begun must finish
	if err != nil {
		// Asynchronous tasks do not notice when a step of another task fails because of its data.
		s.lost = s.lost || s.lockstep() || errors.Is(err, ErrSessionLost) || errors.Is(err, ErrPeerLost)
		return err
	}
	f.result.applied = out.Applied
	s.runs, s.more = s.runs+1, out.Applied
	if out.Applied {
		s.step = out.GlobalStep
	}
	s.over, s.interrupted = s.lockstep() && out.Stop != strategies.GoOn, out.Stop == strategies.Interrupted
	if s.interrupted {
		cause := context.Cause(ctx)
		if cause == nil {
			cause = errors.New("in another task")
		}
		return fmt.Errorf("%w after step %d: %w", ErrInterrupted, s.step, cause)
	}
	return nil
}

// Loss returns the function's loss. For a training function it is the mean over the rows of all
// replicas in sync. It is NaN without rows, and if the function has no loss.
func (r *Result) Loss() float64 {
	i := r.function.fetch(lossName)
	if i < 0 || r.parts == 0 && !r.applied {
		return math.NaN()
	}
	return r.function.stepper.Value(i).Float(0)
}

// Applied reports whether a training function made a step: there was data here or in another task.
func (r *Result) Applied() bool { return r.applied }

// Value returns a result by its name, for each local replica that had data.
func (r *Result) Value(name string) (PerReplica, error) {
	i := r.function.fetch(name)
	if i < 0 {
		return nil, fmt.Errorf("function %s has no result %q: expected one of %q", r.function.name, name, r.function.traced.names)
	}
	return r.at(i), nil
}

// at returns result i of each replica.
func (r *Result) at(i int) PerReplica {
	out := make(PerReplica, r.parts)
	for replica := range out {
		out[replica] = strategies.ReplicaValue(r.function.stepper, replica, i)
	}
	return out
}

// updateMetrics adds the replicas' results to the function's metrics.
func (f *Function) updateMetrics(ctx context.Context) error {
	for _, u := range f.updates {
		if err := u.metric.Update(ctx, f.result.operands(u.operands)...); err != nil {
			return err
		}
	}
	return nil
}

// operands returns a metric's operands, each with a value per replica.
func (r *Result) operands(o operands) []PerReplica {
	out := make([]PerReplica, o.count)
	for i := range out {
		out[i] = r.at(o.first + i)
	}
	return out
}
