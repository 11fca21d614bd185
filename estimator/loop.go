package estimator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/tensor"
)

// Loop trains a model step by step under its strategy, in one process or as a task of
// a cluster, for programs that write the training loop themselves. It runs no hooks,
// and writes a checkpoint only when Save is called.
type Loop struct {
	est   *Estimator
	t     *training
	leave func() error
	over  bool // training is over, in all lock-step tasks
	lost  bool // a step failed: the others are not waited for
}

// OpenLoop builds the model, joins the cluster that TF_CONFIG names, and resumes
// from the newest checkpoint in model_dir, if there is one. If training ended before
// this task could take part, the error wraps ErrEnded.
func OpenLoop(ctx context.Context, modelFn ModelFn, input InputFn, opts ...Option) (*Loop, error) {
	e, err := New(modelFn, opts...)
	if err != nil {
		return nil, err
	}
	config, leave, err := e.joinJob(0)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	t, err := e.openTraining(ctx, input, config, runOptions{bare: true})
	if err != nil {
		return nil, errors.Join(err, leave(), e.Close())
	}
	return &Loop{est: e, t: t, leave: leave}, nil
}

// Step trains on the next batch of each local replica. It returns false when training
// is over: at the end of the input, or because another task in lock step has stopped.
// After a lost peer has returned, training continues from the last checkpoint; see
// GlobalStep.
func (l *Loop) Step(ctx context.Context) (bool, error) {
	if l.over || l.lost {
		return false, nil
	}
	over, err := l.t.turn(ctx)
	if errors.Is(err, distribute.ErrSessionLost) {
		over, err = l.t.recover(ctx, err)
	}
	l.over, l.lost = over, err != nil
	return !over && err == nil, err
}

// GlobalStep returns the number of training steps done, by all tasks.
func (l *Loop) GlobalStep() int64 { return l.t.progress.step }

// Loss returns the loss of the last step, as the mean over the replicas in sync. It is
// NaN before the first step.
func (l *Loop) Loss() float64 { return l.t.lastLoss }

// Fetch asks for tensors of all following steps. Names are as for hooks.Setup.Fetch,
// or names of the Spec's predictions.
func (l *Loop) Fetch(names ...string) error {
	for _, name := range names { // all or none
		if _, err := l.t.session.output(name); err != nil && name != learningRate {
			return err
		}
	}
	for _, name := range names {
		if err := l.t.session.fetchNamed(name); err != nil {
			return err
		}
	}
	if l.t.session.prepared() {
		return nil
	}
	l.t.progress.ran = false
	return l.t.session.prepare()
}

// Value returns a tensor of this task's first replica from the last step: "loss",
// "learning_rate", or one that Fetch asked for before the step. It is valid until the
// next step begins.
func (l *Loop) Value(name string) (*tensor.Tensor, error) {
	if !l.t.progress.ran {
		return nil, fmt.Errorf("tensor %q has no value: no step on data was made since Fetch", name)
	}
	return l.t.loop.view.Value(name)
}

// Replicas counts the copies of the model that work on one step.
type Replicas struct {
	InSync int // replicas, over all tasks, whose gradients make one update
	Local  int // replicas of this task: the batches that a step takes here
	// Lockstep: every task takes part in every step, so that no task may stop alone.
	Lockstep bool
	// Sharded: the variables are spread over other tasks.
	Sharded bool
}

// Replicas returns how many replicas make one step.
func (l *Loop) Replicas() Replicas { return Replicas(l.t.session.strategy.Replicas()) }

// ReduceOp says how Reduce combines values.
type ReduceOp int

// The operations of Reduce.
const (
	Sum ReduceOp = iota
	Mean
)

// Reduce combines the values of x of all tasks in lock step. All tasks call it between
// the same two steps, and get bit-identical results. It returns x if tasks are not in
// lock step.
func (l *Loop) Reduce(ctx context.Context, op ReduceOp, x float64) (float64, error) {
	g, ok := l.t.session.strategy.(distribute.Gatherer)
	if !ok {
		return x, nil
	}
	all, err := g.Gather(ctx, binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for rank, b := range all {
		if len(b) != 8 {
			return 0, fmt.Errorf("reduce: worker %d sent %d bytes, expected 8: do all tasks run the same program?", rank, len(b))
		}
		sum += math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	if op == Mean {
		sum /= float64(len(all))
	}
	return sum, nil
}

// Save writes a checkpoint of the current step on the chief and returns its prefix. On
// other tasks it does nothing.
func (l *Loop) Save(ctx context.Context) (string, error) {
	if !l.est.isChief() {
		return "", nil
	}
	return l.t.checkpoints.save(ctx)
}

// Close ends training and frees everything. In lock step, or on the chief, it ends
// training in all tasks: their next Step returns false.
func (l *Loop) Close(ctx context.Context) error {
	var errs []error
	if l.t.shared != nil && !l.lost {
		errs = append(errs, l.end(ctx))
	}
	return errors.Join(append(errs, l.t.close(), l.leave(), l.est.Close())...)
}

// end tells the other tasks that training is over.
func (l *Loop) end(ctx context.Context) error {
	if l.Replicas().Lockstep && !l.over {
		l.t.progress.RequestStop("closed")
		if _, err := l.t.turn(ctx); err != nil {
			return err
		}
	}
	return errors.Join(l.t.shared.Drain(ctx, false), l.t.shared.Finish(ctx, true))
}
