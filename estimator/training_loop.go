package estimator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator/checkpoint"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// errOtherTask is why training is interrupted where another task in lock step asked for it.
var errOtherTask = errors.New("another task of the cluster was interrupted")

// run trains to the end, through losses of the session.
func (t *training) run(ctx context.Context) error {
	for {
		err := t.runSession(ctx)
		if !errors.Is(err, distribute.ErrSessionLost) || errors.Is(err, ErrInterrupted) {
			return err
		}
		over, err := t.recover(ctx, err)
		if err != nil {
			return err
		}
		if over {
			return t.end(context.WithoutCancel(ctx))
		}
	}
}

// runSession is the training loop.
func (t *training) runSession(ctx context.Context) error {
	// A step that has begun is finished, so that what is saved is whole, and a
	// batch that was read is trained on: the input's position is behind it.
	quiet := context.WithoutCancel(ctx)
	if err := t.start(quiet); err != nil {
		return err
	}
	first := t.step
	for over := false; !over; {
		var err error
		if over, err = t.turn(ctx, quiet); err != nil {
			return err
		}
	}
	if t.step == first && t.reason == StopEndOfInput {
		t.est.log.Warn("training made no steps: perhaps the input is empty or misspecified")
	}
	return t.finish(ctx, quiet)
}

// turn makes one step unless training is over.
func (t *training) turn(ctx, quiet context.Context) (over bool, err error) {
	if err := fpStep.Here(); err != nil {
		return true, err
	}
	step := distribute.Step{Began: time.Now(), Position: t.position, Waiting: ctx}
	lockstep := t.strategy.Replicas().Lockstep
	switch {
	case t.reason != "" && !lockstep && !t.unread: // the last step is one that was read
		return true, nil
	case t.reason != "" && lockstep:
		step.Stop = distribute.Finished
	case ctx.Err() != nil && !lockstep:
		return true, t.interrupted(quiet, context.Cause(ctx))
	case ctx.Err() != nil:
		// The others do not know yet: without this task's batch the step would be another one.
		step.Stop = distribute.Interrupted
		if step.Batches, err = t.lastBatches(quiet); err != nil {
			return true, fmt.Errorf("after step %d: %w", t.step, err)
		}
	default:
		step.Batches, err = t.input.next(ctx)
		if err != nil && ctx.Err() != nil {
			return false, nil
		}
		if err != nil {
			return true, fmt.Errorf("after step %d: %w", t.step, err)
		}
		if len(step.Batches) == 0 && !lockstep {
			t.RequestStop(StopEndOfInput)
			return true, nil
		}
	}
	return t.trainStep(ctx, quiet, step)
}

// lastBatches reads those of the step with which training is interrupted, none
// where that takes too long.
func (t *training) lastBatches(ctx context.Context) ([]distribute.Batch, error) {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	batches, err := t.input.next(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, nil
	}
	return batches, err
}

// trainStep runs one step and takes in what came of it.
func (t *training) trainStep(ctx, quiet context.Context, step distribute.Step) (over bool, err error) {
	if err := t.fit(t.input.stagers()...); err != nil {
		return true, fmt.Errorf("step %d: %w", t.step, err)
	}
	if p, ok := t.stepper.(distribute.Prefetcher); ok && len(step.Batches) > 0 {
		if err := t.prefetch(ctx, p); err != nil {
			return true, err
		}
	}
	step.Quiet = t.quiet.next(t, t.input.last())
	out, err := t.runStep(quiet, step)
	if err != nil {
		err = t.blamed(ctx, t.input.ds, t.input.now, err)
		var nan *hooks.NaNLossError
		if errors.As(err, &nan) {
			t.lastLoss, t.lossRead = math.NaN(), true
			return true, err
		}
		return true, fmt.Errorf("step %d: %w", t.step, err)
	}
	if t.ran && out.Applied && !t.unread {
		loss, err := t.Value("loss")
		if err != nil {
			return true, err
		}
		t.lastLoss, t.lossRead = loss.Float(0), true
	}
	switch {
	case out.Stop == distribute.Interrupted:
		cause := context.Cause(ctx)
		if cause == nil {
			cause = errOtherTask
		}
		return true, t.interrupted(quiet, cause)
	case out.Stop == distribute.Finished:
		t.RequestStop(StopOtherTask)
		return true, nil
	case !out.Applied:
		t.RequestStop(StopEndOfInput)
		return true, nil
	}
	return false, nil
}

// prefetch reads the batches of the next steps and tells the stepper of them.
func (t *training) prefetch(ctx context.Context, p distribute.Prefetcher) error {
	for len(t.input.ahead) < p.Ahead() && t.input.more() {
		next, err := t.input.readAhead(ctx)
		if ctx.Err() != nil {
			return nil // the loop finds out by itself
		}
		if err != nil {
			return fmt.Errorf("after step %d: %w", t.step, err)
		}
		if next.need != nil {
			return nil // the program has no room for them yet
		}
		if err := p.Prefetch(ctx, next.batches()); err != nil {
			return err
		}
	}
	return nil
}

// recover brings a job together again that lost a task or its variables. It
// reports whether the others have ended the training meanwhile.
func (t *training) recover(ctx context.Context, cause error) (over bool, err error) {
	if t.endedElsewhere() {
		return true, nil
	}
	t.est.log.Warn("the tasks of the job synchronize again", "global_step", t.step, "cause", strings.ReplaceAll(cause.Error(), "\n", "; "))
	t.reason = "" // it is for the steps that come now to tell
	switch err = t.synchronize(ctx); {
	case err == nil:
		return false, nil
	case ctx.Err() != nil && follows(err):
		return false, fmt.Errorf("%w at step %d, without a checkpoint: %w", ErrInterrupted, t.step, context.Cause(ctx))
	case errors.Is(err, distribute.ErrPeerLost) && t.endedElsewhere():
		return true, nil
	}
	if _, over = endedBefore(err); over {
		t.RequestStop(StopOtherTask)
		return true, nil
	}
	return false, err
}

// endedElsewhere reports whether the chief has finished the training, which
// this task, having come late, can only see in model_dir.
func (t *training) endedElsewhere() bool {
	if t.IsChief() {
		return false
	}
	s, err := checkpoint.LoadRunState(atomicfile.OS{}, t.est.modelDir)
	if err != nil || s.Finished == nil {
		return false
	}
	t.RequestStop(StopOtherTask)
	return true
}

// finish ends training in all tasks, then tells the hooks.
func (t *training) finish(ctx, quiet context.Context) error {
	if err := fpSettle.Here(); err != nil {
		return err
	}
	if t.shared == nil {
		return t.end(quiet)
	}
	err := t.shared.Settle(ctx, t.reason == StopEndOfInput)
	cut := err != nil && ctx.Err() != nil && follows(err)
	if err != nil && !cut {
		return err
	}
	if err := t.readStep(); err != nil {
		return err
	}
	if cut {
		return t.interrupted(quiet, context.Cause(ctx))
	}
	if err := t.end(quiet); err != nil {
		return err
	}
	err = t.shared.Finish(quiet, true)
	if errors.Is(err, distribute.ErrPeerLost) && t.endedElsewhere() {
		return nil
	}
	return err
}

// interrupted saves what was done and tells why training stopped. Hooks are not
// told of an end: what they do there, evaluating for example, can take longer
// than the grace that a signal gives.
func (t *training) interrupted(ctx context.Context, cause error) error {
	t.reason = "interrupted"
	err := fmt.Errorf("%w at step %d: %w", ErrInterrupted, t.step, cause)
	if t.strategy.Replicas().Lockstep {
		serr := t.shared.Settle(ctx, false)
		if serr == nil {
			serr = errors.Join(t.saveOnExit(ctx), t.shared.Finish(ctx, false))
		}
		return errors.Join(err, serr)
	}
	err = errors.Join(err, t.saveOnExit(ctx))
	if t.shared == nil {
		return err
	}
	leaving, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	if lerr := t.shared.Finish(leaving, false); lerr != nil {
		t.est.log.Warn("the other tasks were not told that this one leaves", "error", lerr)
	}
	return err
}

// leaveTime bounds how long a task that was told to end tries to tell the others.
const leaveTime = 3 * time.Second

// saveOnExit saves a checkpoint where this task does so at all.
func (t *training) saveOnExit(ctx context.Context) error {
	if t.saver == nil || !has[*hooks.CheckpointSaver](t.hooks) {
		return nil
	}
	_, err := t.SaveCheckpoint(ctx)
	return err
}
