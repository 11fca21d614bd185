package estimator

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/saved"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// checkpoints restores and saves the state of a training job: variables, the
// input's position and the hooks' states.
type checkpoints struct {
	session  *session
	progress *progress
	input    *trainingInput
	files    *trainingFiles
	stateful []hooks.Stateful
	plateau  *plateau     // nil: the learning rate does not depend on evaluations
	best     *bestWeights // nil: training ends with its last weights
	saved    int64        // step of the newest checkpoint, -1 for none
	prefix   string       // of that checkpoint
}

// setStateful sets the hooks with states to restore and save.
func (c *checkpoints) setStateful(hs []hooks.Hook) {
	for _, h := range hs {
		if st, ok := h.(hooks.Stateful); ok {
			c.stateful = append(c.stateful, st)
		}
	}
}

// restoreOrInit loads the newest complete checkpoint, which stays open, or
// warm-starts, or keeps initial values.
func (c *checkpoints) restoreOrInit() (*checkpoint.Reader, distribute.Notes, error) {
	if err := fpRestore.Here(); err != nil {
		return nil, distribute.Notes{}, err
	}
	r, err := c.newest()
	if errors.Is(err, checkpoint.ErrNone) {
		return nil, distribute.Notes{}, c.initOnce()
	}
	if err != nil {
		return nil, distribute.Notes{}, err
	}
	notes, err := c.restoreAll(r)
	var other *MismatchError
	if errors.As(err, &other) && r.Step() == 0 {
		// A first run that failed leaves one, and the next run may have another model.
		c.session.est.log.Warn("the checkpoint is of another model, but of step 0: training begins anew", "prefix", r.Prefix())
		return nil, distribute.Notes{}, errors.Join(r.Close(), c.initOnce())
	}
	if err != nil {
		return nil, notes, errors.Join(err, r.Close())
	}
	return r, notes, nil
}

// initOnce sets variables by a warm start or the model's InitFn, if the model has either.
func (c *checkpoints) initOnce() error {
	if c.session.est.warm != nil {
		return c.session.warmStart()
	}
	if sc := c.session.program.spec.Scaffold; sc != nil && sc.InitFn != nil {
		return sc.InitFn(variableSetter{c.session})
	}
	return nil
}

// variableSetter sets variables to values in memory.
type variableSetter struct{ session *session }

// Set replaces a value; an average of the variable starts from it, too.
func (v variableSetter) Set(name string, value *tensor.Tensor) error {
	vars := v.session.strategy.Variables()
	if average := update.Averages(v.session.program.spec.TrainOp)[name]; average != "" {
		if err := vars.Set(average, distribute.Whole(value)); err != nil {
			return err
		}
	}
	return vars.Set(name, distribute.Whole(value))
}

// newest opens the newest complete checkpoint; the chief quarantines damaged ones.
func (c *checkpoints) newest() (*checkpoint.Reader, error) {
	if c.files.saver != nil {
		return c.files.saver.OpenLatest(context.Background())
	}
	return checkpoint.OpenLatest(context.Background(), c.session.est.modelDir)
}

// restoreAll restores variables and hooks, and returns the states of the inputs.
func (c *checkpoints) restoreAll(r *checkpoint.Reader) (notes distribute.Notes, err error) {
	if err := c.session.checkFeatures(r); err != nil {
		return notes, err
	}
	if err := c.session.restore(r); err != nil {
		return notes, err
	}
	if names := saved.LeftOut(r, c.session.strategy); len(names) > 0 {
		c.session.est.log.Warn("the checkpoint has variables that this model does not have: they are lost; if the model was not meant to change, end training and correct it",
			"prefix", r.Prefix(), "variables", len(names), "first", names[0])
	}
	if notes.Positions, err = saved.Positions(r); err != nil {
		return notes, err
	}
	if notes.Workers, err = saved.Workers(r); err != nil {
		return notes, err
	}
	return notes, c.restoreHooks(r)
}

func (c *checkpoints) restoreHooks(r *checkpoint.Reader) error {
	for _, st := range c.stateful {
		state, ok, err := saved.String(r, hookStateKey+st.StateKey())
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := st.UnmarshalBinary(state); err != nil {
			return fmt.Errorf("checkpoint %s: state of hook %s: %w", r.Prefix(), st.StateKey(), err)
		}
	}
	return nil
}

// save writes the state after the last step.
func (c *checkpoints) save(ctx context.Context) (string, error) {
	if c.files.saver == nil {
		return "", errors.New("only the chief saves checkpoints: leave the CheckpointSaver hook out in this task")
	}
	if c.saved == c.progress.step {
		return c.prefix, nil
	}
	snap, err := c.session.strategy.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	prefix, err := c.write(ctx, snap)
	if snap.Close != nil {
		err = errors.Join(err, snap.Close())
	}
	if err != nil {
		return "", err
	}
	c.saved, c.prefix = snap.Step, prefix
	return prefix, c.files.events.Add(summary.SessionCheckpoint(snap.Step, prefix))
}

// write completes a strategy's snapshot and writes it.
func (c *checkpoints) write(ctx context.Context, snap *distribute.Snapshot) (string, error) {
	x := saved.Extra{Strings: map[string][]byte{}, TrainOps: []*optimizers.TrainOp{c.session.program.spec.TrainOp}}
	for rank, position := range snap.Notes.Positions {
		x.Strings[saved.InputKey(rank)] = position
	}
	if n := snap.Notes.Workers; n > 0 {
		x.Strings[saved.WorkersKey] = strconv.AppendInt(nil, int64(n), 10)
	}
	if own := saved.InputKey(c.session.est.inputRank()); x.Strings[own] == nil {
		position, err := c.input.state()
		if err != nil {
			return "", fmt.Errorf("input position: %w", err)
		}
		x.Strings[own] = position
	}
	x.Strings[featuresKey] = []byte(c.session.featureSignature())
	x.Strings[saved.SeedKey] = strconv.AppendInt(nil, c.session.est.seed, 10)
	for key, value := range c.session.est.extras {
		x.Strings[extraKey+key] = value
	}
	for _, st := range c.stateful {
		state, err := st.MarshalBinary()
		if err != nil {
			return "", fmt.Errorf("state of hook %s: %w", st.StateKey(), err)
		}
		x.Strings[hookStateKey+st.StateKey()] = state
	}
	// Events of the steps so far must be on disk before the steps count as saved.
	if err := c.files.events.Flush(); err != nil {
		return "", err
	}
	return saved.Write(ctx, c.files.saver, snap, x)
}
