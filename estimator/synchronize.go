package estimator

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
)

// synchronize sets variables, step and input to where training continues: at the
// newest checkpoint, or with the state of the job's other tasks.
func (t *training) synchronize(ctx context.Context) error {
	var r *checkpoint.Reader
	restore := func() (notes distribute.Notes, err error) {
		if r != nil { // Synchronize calls restore again after a failure
			r.Close()
		}
		r, notes, err = t.checkpoints.restoreOrInit()
		return notes, err
	}
	notes, err := t.meet(ctx, restore)
	if r != nil {
		defer r.Close()
	}
	if err != nil {
		return err
	}
	if r != nil {
		// The checkpoint's step: asynchronous workers may have made more steps meanwhile.
		t.checkpoints.saved, t.checkpoints.prefix = r.Step(), r.Prefix()
		t.est.log.Info("restored checkpoint", "prefix", r.Prefix(), "global_step", t.progress.step)
	}
	return t.seek(notes.Positions[t.est.inputRank()])
}

// meet sets variables and step to those of the job.
func (t *training) meet(ctx context.Context, restore func() (distribute.Notes, error)) (distribute.Notes, error) {
	for {
		meeting := restore
		if t.shared != nil {
			meeting = func() (distribute.Notes, error) { return t.shared.Synchronize(ctx, restore) }
		}
		notes, err := meeting()
		if err != nil {
			return notes, err
		}
		err = t.readStep()
		if !errors.Is(err, distribute.ErrSessionLost) || ctx.Err() != nil {
			return notes, err
		}
		t.est.log.Warn("the tasks of the job synchronize again", "cause", err) // it ended in between
	}
}

// readStep sets the loop's step count from the global step variable.
func (t *training) readStep() (err error) {
	t.progress.step, err = t.session.globalStep()
	return err
}

// seek moves the input to a position. It drops what the strategy copied ahead from the old position, since later batches reuse that memory.
func (t *training) seek(position []byte) error {
	if u, ok := t.session.stepper.(distribute.Uploader); ok {
		if err := u.Forget(); err != nil {
			return err
		}
	}
	switch err := t.input.rewind(t.whole, position); {
	case errors.Is(err, inputs.ErrStateMismatch) && (t.progress.step == 0 || t.progress.step == t.files.inputEnded):
		// The position is of another input: none or all of that one was trained on.
		return t.input.rewind(t.whole, nil)
	case errors.Is(err, inputs.ErrStateMismatch):
		from := "the job"
		if t.checkpoints.prefix != "" {
			from = "checkpoint " + t.checkpoints.prefix
		}
		return fmt.Errorf("%w, or train in another model_dir, where a warm start keeps the weights: %s goes on in the midst of the input that it was made with", err, from)
	case err != nil && position != nil:
		return fmt.Errorf("checkpoint %s: input position: %w", t.checkpoints.prefix, err)
	default:
		return err
	}
}
