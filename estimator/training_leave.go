package estimator

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/distribute"
)

// stepLeaving marks the step as the last of this task of an elastic job, whose process has to end. A chief interrupts the
// other tasks too, and no step is made. Any other task leaves alone, with its last batches. If it has none, it leaves
// without a step, and stepLeaving returns true.
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

// leave ends a task without ending the others.
func (t *training) leave(cause error) error {
	t.progress.reason = "interrupted"
	if x, ok := t.session.strategy.(distribute.Elastic); ok {
		x.Leave(t.whole)
	}
	return fmt.Errorf("%w at step %d: %w", ErrInterrupted, t.progress.step, cause)
}
