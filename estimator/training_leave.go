package estimator

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/distribute"
)

// stepLeaving makes the step one in which this task of an elastic job leaves, as its process has to end: alone, or, where it
// is the chief, with all others, for which no step is made. It reports whether the task leaves without a step.
func (t *training) stepLeaving(ctx context.Context, step *distribute.Step) (over bool, err error) {
	if t.est.isChief() {
		step.Stop = distribute.Interrupted
		return false, nil
	}
	step.Stop = distribute.Leaving
	if step.Batches, err = t.lastBatches(); err == nil && len(step.Batches) > 0 {
		return false, nil
	}
	return true, t.leave(context.Cause(ctx)) // the others make the step without it
}

// leave is the end of a task without which the others go on.
func (t *training) leave(cause error) error {
	t.progress.reason = "interrupted"
	if x, ok := t.session.strategy.(distribute.Elastic); ok {
		x.Leave(t.whole)
	}
	return fmt.Errorf("%w at step %d: %w", ErrInterrupted, t.progress.step, cause)
}
