package estimator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator/checkpoint"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/estimator/summary"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// synchronize brings variables, step and input to where training goes on from:
// the newest checkpoint, or what the other tasks of the job hold.
func (t *training) synchronize(ctx context.Context) error {
	var r *checkpoint.Reader
	restore := func() (notes distribute.Notes, err error) {
		if r != nil { // it began again
			r.Close()
		}
		r, notes, err = t.restoreOrInit()
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
		t.saved, t.prefix = t.step, r.Prefix()
		t.est.log.Info("restored checkpoint", "prefix", r.Prefix(), "global_step", t.step)
	}
	return t.seek(ctx, notes.Positions[t.rank()])
}

// meet brings variables and step to where the job is.
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

// rank is this task's number among those that train.
func (t *training) rank() int { return max(t.est.config.WorkerRank(), 0) }

// seek brings the input to a position.
func (t *training) seek(ctx context.Context, position []byte) error {
	switch err := t.input.rewind(context.WithoutCancel(ctx), position); {
	case errors.Is(err, inputs.ErrStateMismatch) && t.step == 0: // nothing of that input was trained on
		return t.input.rewind(context.WithoutCancel(ctx), nil)
	case errors.Is(err, inputs.ErrStateMismatch):
		return fmt.Errorf("%w, or train in another model_dir: checkpoint %s goes on in the midst of the input that it was made with", err, t.prefix)
	case err != nil && position != nil:
		return fmt.Errorf("checkpoint %s: input position: %w", t.prefix, err)
	default:
		return err
	}
}

// restoreOrInit loads the newest checkpoint that is whole, which stays open, or
// warm-starts, or keeps initial values.
func (t *training) restoreOrInit() (*checkpoint.Reader, distribute.Notes, error) {
	if err := fpRestore.Here(); err != nil {
		return nil, distribute.Notes{}, err
	}
	r, err := t.newest()
	if errors.Is(err, checkpoint.ErrNone) {
		return nil, distribute.Notes{}, t.initOnce()
	}
	if err != nil {
		return nil, distribute.Notes{}, err
	}
	notes, err := t.restoreAll(r)
	var other *MismatchError
	if errors.As(err, &other) && r.Step() == 0 {
		// A first run that failed leaves one, and its cure may be another model.
		t.est.log.Warn("the checkpoint is of another model, but of step 0: training begins anew", "prefix", r.Prefix())
		return nil, distribute.Notes{}, errors.Join(r.Close(), t.initOnce())
	}
	if err != nil {
		return nil, notes, errors.Join(err, r.Close())
	}
	return r, notes, nil
}

// initOnce gives variables other values than their initial ones, where asked.
func (t *training) initOnce() error {
	if t.est.warm != nil {
		return t.warmStart()
	}
	if sc := t.program.spec.Scaffold; sc != nil && sc.InitFn != nil {
		return sc.InitFn(variableSetter{t.strategy.Variables()})
	}
	return nil
}

// variableSetter sets variables to values in memory.
type variableSetter struct{ distribute.Variables }

// Set replaces a value.
func (v variableSetter) Set(name string, value *tensor.Tensor) error {
	return v.Variables.Set(name, distribute.Whole(value))
}

// newest opens the newest whole checkpoint; the chief sets damaged ones aside.
func (t *training) newest() (*checkpoint.Reader, error) {
	if t.saver != nil {
		return t.saver.OpenLatest(context.Background())
	}
	return checkpoint.OpenLatest(context.Background(), t.est.modelDir)
}

// restoreAll gives variables and hooks the states they had, and returns the inputs'.
func (t *training) restoreAll(r *checkpoint.Reader) (distribute.Notes, error) {
	notes := distribute.Notes{Positions: map[int][]byte{}}
	if err := t.checkFeatures(r); err != nil {
		return notes, err
	}
	if err := t.restore(r); err != nil {
		return notes, err
	}
	for _, name := range r.Names() {
		digits, ok := strings.CutPrefix(name, inputStateKey)
		if !ok {
			continue
		}
		rank, err := strconv.Atoi(digits)
		if err != nil {
			return notes, fmt.Errorf("checkpoint %s: tensor %s: expected a worker's rank at the end", r.Prefix(), name)
		}
		if notes.Positions[rank], _, err = readString(r, name); err != nil {
			return notes, err
		}
	}
	return notes, t.restoreHooks(r)
}

func (t *training) restoreHooks(r *checkpoint.Reader) error {
	for _, h := range t.hooks {
		st, ok := h.(hooks.Stateful)
		if !ok {
			continue
		}
		state, ok, err := readString(r, hookStateKey+st.StateKey())
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

func inputKey(rank int) string { return inputStateKey + strconv.Itoa(rank) }

// SaveCheckpoint writes the state after the last step.
func (t *training) SaveCheckpoint(ctx context.Context) (string, error) {
	if t.saver == nil {
		return "", errors.New("only the chief saves checkpoints: leave the CheckpointSaver hook out in this task")
	}
	if t.saved == t.step {
		return t.prefix, nil
	}
	snap, err := t.strategy.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	prefix, err := t.save(ctx, snap)
	if snap.Close != nil {
		err = errors.Join(err, snap.Close())
	}
	if err != nil {
		return "", err
	}
	t.saved, t.prefix = snap.Step, prefix
	return prefix, t.events.Add(summary.SessionCheckpoint(snap.Step, prefix))
}

// save adds what is not the strategy's to a snapshot, and writes it.
func (t *training) save(ctx context.Context, snap *distribute.Snapshot) (string, error) {
	tensors := snap.Tensors
	for rank, position := range snap.Notes.Positions {
		tensors[inputKey(rank)] = stringScalar(position)
	}
	if snap.Notes.Positions[t.rank()] == nil {
		position, err := t.input.state()
		if err != nil {
			return "", fmt.Errorf("input position: %w", err)
		}
		tensors[inputKey(t.rank())] = stringScalar(position)
	}
	for name, v := range t.program.spec.TrainOp.Hyperparameters() {
		tensors[name] = tensor.Scalar(float32(v))
	}
	tensors[featuresKey] = stringScalar([]byte(t.featureSignature()))
	tensors[seedKey] = stringScalar(strconv.AppendInt(nil, t.est.seed, 10))
	for _, h := range t.hooks {
		if st, ok := h.(hooks.Stateful); ok {
			state, err := st.MarshalBinary()
			if err != nil {
				return "", fmt.Errorf("state of hook %s: %w", st.StateKey(), err)
			}
			tensors[hookStateKey+st.StateKey()] = stringScalar(state)
		}
	}
	// What was told of the steps so far is on disk before they count as saved.
	if err := t.events.Flush(); err != nil {
		return "", err
	}
	return t.saver.Save(ctx, checkpoint.Snapshot{Step: snap.Step, Tensors: tensors, Parts: partsOf(snap)})
}

// partsOf reads the pieces of variables one after the other as they are written.
func partsOf(snap *distribute.Snapshot) iter.Seq2[checkpoint.Part, error] {
	if len(snap.Parts) == 0 {
		return nil
	}
	return func(yield func(checkpoint.Part, error) bool) {
		for _, p := range snap.Parts {
			value, err := p.Read()
			part := checkpoint.Part{Name: p.Name, Full: p.Type.Shape.At(0), Tensor: value}
			if !p.Whole {
				part.Slice = make(checkpoint.Slice, len(part.Full))
				for i := range part.Slice {
					part.Slice[i] = checkpoint.Extent{Length: -1}
				}
				part.Slice[0] = checkpoint.Extent{Start: p.First, Length: p.Rows}
			}
			if !yield(part, err) || err != nil {
				return
			}
		}
	}
}
