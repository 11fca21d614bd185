package estimator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// errOtherTask is the cause of an interruption that another task in lock step asked for.
var errOtherTask = errors.New("another task of the cluster was interrupted")

// run trains to the end, recovering lost sessions.
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
			return t.loop.end(t.whole)
		}
	}
}

// runSession is the training loop.
func (t *training) runSession(ctx context.Context) error {
	if err := t.loop.start(t.whole); err != nil {
		return err
	}
	first := t.progress.step
	for over := false; !over; {
		var err error
		if over, err = t.turn(ctx); err != nil {
			return err
		}
	}
	if t.progress.step == first && t.progress.reason == StopEndOfInput {
		t.est.log.Warn("training made no steps: " + t.whyNoSteps())
	}
	return t.finish(ctx)
}

// beginAgain goes back to the first row of an input that ended before the first step, if an earlier call trained on its
// rows: as in tf.estimator, each call of Train in a loop trains on all rows.
func (t *training) beginAgain() (bool, error) {
	if t.again == 0 || t.progress.step != t.again {
		return false, nil
	}
	t.again = 0
	return true, t.seek(nil)
}

// whyNoSteps says why the input had no rows.
func (t *training) whyNoSteps() string {
	if t.progress.step > 0 && t.progress.step == t.files.inputEnded {
		return fmt.Sprintf("the checkpoint of step %d is behind the last row of this input: let it repeat to train on it again, or give a file of new rows another name", t.progress.step)
	}
	return "perhaps the input is empty or misspecified"
}

// turn makes one step unless training is over. It finishes a step that has begun, and
// trains on every batch that was read, since the input's position is after them.
func (t *training) turn(ctx context.Context) (over bool, err error) {
	if err := fpStep.Here(); err != nil {
		return true, err
	}
	step := distribute.Step{Began: time.Now(), Position: t.position, Waiting: ctx}
	lockstep := t.session.strategy.Replicas().Lockstep
	switch {
	case t.progress.reason != "" && !lockstep && !t.progress.unread: // the last step was read
		return true, nil
	case t.progress.reason != "" && lockstep:
		step.Stop = distribute.Finished
	case ctx.Err() != nil && !lockstep:
		return true, t.interrupted(context.Cause(ctx))
	case ctx.Err() != nil && t.est.elastic():
		if over, err := t.stepLeaving(ctx, &step); over {
			return true, err
		}
	case ctx.Err() != nil:
		// The others do not know yet; without this task's batch their step would differ.
		step.Stop = distribute.Interrupted
		if step.Batches, err = t.lastBatches(); err != nil {
			return true, fmt.Errorf("after step %d: %w", t.progress.step, err)
		}
	default:
		step.Batches, err = t.input.next(ctx)
		if err != nil && ctx.Err() != nil {
			return false, nil
		}
		if err != nil {
			return true, fmt.Errorf("after step %d: %w", t.progress.step, err)
		}
		if len(step.Batches) == 0 && !lockstep {
			if again, err := t.beginAgain(); again {
				return false, err
			}
			t.progress.RequestStop(StopEndOfInput)
			return true, nil
		}
	}
	return t.trainStep(ctx, step)
}

// lastBatches reads the batches of the step in which training is interrupted, or
// none if that takes too long.
func (t *training) lastBatches() ([]distribute.Batch, error) {
	ctx, cancel := context.WithTimeout(t.whole, leaveTime)
	defer cancel()
	batches, err := t.input.next(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, nil
	}
	return batches, err
}

// trainStep runs one step and handles its result.
func (t *training) trainStep(ctx context.Context, step distribute.Step) (over bool, err error) {
	if err := t.session.fit(t.input.stagers()...); err != nil {
		return true, fmt.Errorf("step %d: %w", t.progress.step, err)
	}
	if p, ok := t.session.stepper.(distribute.Prefetcher); ok && len(step.Batches) > 0 {
		if err := t.prefetch(ctx, p); err != nil {
			return true, err
		}
	}
	step.Unread = t.unread.next(t.loop, t.input.last())
	out, err := t.loop.step(t.whole, step)
	if err != nil {
		err = t.session.blamed(ctx, t.input.ds, t.input.now, err)
		var nan *hooks.NaNLossError
		if errors.As(err, &nan) {
			t.lastLoss, t.lossRead = math.NaN(), true
			return true, err
		}
		return true, fmt.Errorf("step %d: %w", t.progress.step, err)
	}
	if t.progress.ran && out.Applied && !t.progress.unread {
		if err := t.readLoss(); err != nil {
			return true, err
		}
	}
	switch {
	case out.Stop == distribute.Interrupted:
		cause := context.Cause(ctx)
		if cause == nil {
			cause = errOtherTask
		}
		return true, t.interrupted(cause)
	case out.Stop == distribute.Finished:
		t.progress.RequestStop(StopOtherTask)
		return true, nil
	case step.Stop == distribute.Leaving:
		return true, t.leave(context.Cause(ctx))
	case !out.Applied:
		t.progress.RequestStop(StopEndOfInput)
		return true, nil
	}
	return false, nil
}

// readLoss takes the loss of the last step, unless its update was skipped.
func (t *training) readLoss() error {
	v, err := t.loop.view.Value("loss")
	if err != nil {
		return err
	}
	loss, skips := v.Float(0), t.session.skipLimit() > 0
	switch {
	case skips && t.progress.reason == hooks.StopNaNLoss:
		loss = math.NaN() // though perhaps only gradients are not finite
	case skips && (math.IsNaN(loss) || math.IsInf(loss, 0)):
		return nil
	}
	t.lastLoss, t.lossRead = loss, true
	return nil
}

// prefetch reads the batches of the next steps and passes them to the stepper.
func (t *training) prefetch(ctx context.Context, p distribute.Prefetcher) error {
	for len(t.input.ahead) < p.Ahead() && t.input.more() {
		next, err := t.input.readAhead(ctx)
		if ctx.Err() != nil {
			return nil // next returns the error to the loop
		}
		if err != nil {
			return fmt.Errorf("after step %d: %w", t.progress.step, err)
		}
		if next.need != nil {
			return nil // they exceed the program's capacity
		}
		if err := p.Prefetch(ctx, next.batches()); err != nil {
			return err
		}
	}
	return nil
}

// recover restores a job that lost a task or variables. It reports whether the other
// tasks have ended the training meanwhile.
func (t *training) recover(ctx context.Context, cause error) (over bool, err error) {
	if t.endedElsewhere() {
		return true, nil
	}
	t.est.log.Warn("the tasks of the job synchronize again", "global_step", t.progress.step, "cause", strings.ReplaceAll(cause.Error(), "\n", "; "))
	t.progress.reason = "" // the following steps will report it
	switch err = t.synchronize(ctx); {
	case err == nil:
		return false, t.promote()
	case ctx.Err() != nil && follows(err):
		return false, fmt.Errorf("%w at step %d, without a checkpoint: %w", ErrInterrupted, t.progress.step, context.Cause(ctx))
	case errors.Is(err, distribute.ErrPeerLost) && t.endedElsewhere():
		return true, nil
	}
	if _, over = endedBefore(err); over {
		t.progress.RequestStop(StopOtherTask)
		return true, nil
	}
	return false, err
}

// endedElsewhere reports whether the chief has finished the training. A late task can
// see this only in model_dir.
func (t *training) endedElsewhere() bool {
	if t.est.isChief() {
		return false
	}
	s, err := checkpoint.LoadRunState(atomicfile.OS{}, t.est.modelDir)
	if err != nil || s.Finished == nil {
		return false
	}
	t.progress.RequestStop(StopOtherTask)
	return true
}

// finish ends training in all tasks, then tells the hooks.
func (t *training) finish(ctx context.Context) error {
	if err := fpFinish.Here(); err != nil {
		return err
	}
	if t.shared == nil {
		return t.loop.end(t.whole)
	}
	err := t.shared.Drain(ctx, t.progress.reason == StopEndOfInput)
	cut := err != nil && ctx.Err() != nil && follows(err)
	if err != nil && !cut {
		return err
	}
	if err := t.readStep(); err != nil {
		return err
	}
	if cut {
		return t.interrupted(context.Cause(ctx))
	}
	if err := t.loop.end(t.whole); err != nil {
		return err
	}
	err = t.shared.Finish(t.whole, true)
	if errors.Is(err, distribute.ErrPeerLost) && t.endedElsewhere() {
		return nil
	}
	return err
}

// interrupted saves the work done and returns why training stopped. It does not call the
// hooks' End: an evaluation there, for example, can take longer than the grace period of
// a signal.
func (t *training) interrupted(cause error) error {
	t.progress.reason = "interrupted"
	err := fmt.Errorf("%w at step %d: %w", ErrInterrupted, t.progress.step, cause)
	if t.session.strategy.Replicas().Lockstep {
		serr := t.shared.Drain(t.whole, false)
		if serr == nil {
			serr = errors.Join(t.saveOnExit(), t.shared.Finish(t.whole, false))
		}
		return errors.Join(err, serr)
	}
	err = errors.Join(err, t.saveOnExit())
	if t.shared == nil {
		return err
	}
	leaving, cancel := context.WithTimeout(t.whole, leaveTime)
	defer cancel()
	if lerr := t.shared.Finish(leaving, false); lerr != nil {
		t.est.log.Warn("the other tasks were not informed that this one leaves", "error", lerr)
	}
	return err
}

// leaveTime bounds how long a task that ends tries to tell the others.
const leaveTime = 3 * time.Second

// saveOnExit saves a checkpoint, if this task saves checkpoints.
func (t *training) saveOnExit() error {
	if t.files.saver == nil || !has[*hooks.CheckpointSaver](t.loop.hooks) {
		return nil
	}
	_, err := t.checkpoints.save(t.whole)
	return err
}
