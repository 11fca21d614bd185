package distribute

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	strategies "github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/saved"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
)

// metricKey is the prefix of the names of metrics' states in checkpoints.
const metricKey = saved.PrivatePrefix + "metrics/"

// Restore sets variables, optimizer state, metrics and the positions of all Inputs to the
// newest checkpoint in model_dir, or to the state of the job's other tasks. Without
// either, variables have their initial values. It ends open passes over Inputs: continue
// with Iterate. It returns the global step. All tasks call Restore before their first Run,
// and after an error that wraps ErrSessionLost.
func (s *Strategy) Restore(ctx context.Context) (int64, error) {
	var r *checkpoint.Reader
	err := s.synchronize(ctx, func() (strategies.Notes, error) {
		if r != nil { // Synchronize calls this again after a failure
			r.Close()
		}
		var notes strategies.Notes
		var err error
		r, notes, err = s.restore()
		return notes, err
	})
	if r != nil {
		err = errors.Join(err, r.Close())
	}
	for _, in := range s.inputs {
		err = errors.Join(err, in.close())
	}
	if err != nil {
		return 0, fmt.Errorf("restore: %w", err)
	}
	return s.step, nil
}

// synchronize brings this task to the state of the job. restore, if not nil, sets the variables of a job that begins.
func (s *Strategy) synchronize(ctx context.Context, restore func() (strategies.Notes, error)) error {
	if err := s.begin(); err != nil {
		return err
	}
	for _, m := range s.metrics {
		m.state.Reset()
	}
	if restore == nil {
		restore = func() (strategies.Notes, error) { return strategies.Notes{}, nil }
	}
	var notes strategies.Notes
	var err error
	if s.shared != nil {
		notes, err = s.shared.Synchronize(ctx, restore)
	} else {
		notes, err = restore()
	}
	if err != nil {
		return err
	}
	if s.step, err = s.globalStep(); err != nil {
		return err
	}
	s.ready, s.lost, s.more, s.over, s.interrupted = true, false, true, false, false
	return s.setPosition(notes.Positions[s.rank()])
}

// restore sets the variables from the newest checkpoint, which stays open; nil without one.
func (s *Strategy) restore() (*checkpoint.Reader, strategies.Notes, error) {
	dir := s.config.ModelDir()
	if dir == "" {
		return nil, strategies.Notes{}, s.restart()
	}
	r, err := checkpoint.OpenLatest(context.Background(), dir)
	if errors.Is(err, checkpoint.ErrNone) {
		return nil, strategies.Notes{}, s.restart()
	}
	if err != nil {
		return nil, strategies.Notes{}, err
	}
	notes, err := s.restoreAll(r)
	if err != nil {
		return nil, notes, errors.Join(err, r.Close())
	}
	s.log.Info("restored checkpoint", "prefix", r.Prefix(), "global_step", r.Step())
	return r, notes, nil
}

func (s *Strategy) restoreAll(r *checkpoint.Reader) (strategies.Notes, error) {
	problems, err := saved.Restore(r, s.inner, s.trainOps()...)
	if len(problems) > 0 {
		err = &MismatchError{Prefix: r.Prefix(), Problems: problems}
	}
	if err != nil {
		return strategies.Notes{}, err
	}
	for _, m := range s.metrics {
		state, ok, err := saved.String(r, metricKey+m.name)
		if err == nil && ok {
			if err = m.state.UnmarshalBinary(state); err == nil {
				err = m.setTotal()
			}
		}
		if err != nil {
			return strategies.Notes{}, fmt.Errorf("checkpoint %s: metric %s: %w", r.Prefix(), m.name, err)
		}
	}
	positions, err := saved.Positions(r)
	return strategies.Notes{Positions: positions}, err
}

// Save writes a checkpoint of the current step to model_dir, in the Estimator's format:
// variables, optimizer state, metrics, and the positions of all Inputs. All tasks in
// lock step call it; the chief writes the checkpoint and returns its prefix.
func (s *Strategy) Save(ctx context.Context) (string, error) {
	switch {
	case s.closed:
		return "", fmt.Errorf("save: %w", errClosed)
	case !s.ready:
		return "", errors.New("save: call Restore, or run a function, first")
	}
	prefix, err := s.save(ctx)
	if err != nil {
		return "", fmt.Errorf("save: %w", err)
	}
	return prefix, nil
}

func (s *Strategy) save(ctx context.Context) (string, error) {
	states := map[string][]byte{}
	for _, m := range s.metrics {
		all, err := m.merged(ctx)
		if err != nil {
			return "", err
		}
		if states[metricKey+m.name], err = all.MarshalBinary(); err != nil {
			return "", err
		}
	}
	if err := s.positions(ctx, states); err != nil {
		return "", fmt.Errorf("input position: %w", err)
	}
	if !s.IsChief() {
		return "", nil
	}
	if err := s.openSaver(); err != nil {
		return "", err
	}
	snap, err := s.inner.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	prefix, err := s.write(ctx, snap, states)
	if snap.Close != nil {
		err = errors.Join(err, snap.Close())
	}
	if err != nil {
		return "", err
	}
	return prefix, nil
}

// openSaver makes the chief's saver on the first call.
func (s *Strategy) openSaver() (err error) {
	if s.saver != nil {
		return nil
	}
	dir := s.config.ModelDir()
	if dir == "" {
		return errors.New("no model_dir: set runconfig.ModelDir")
	}
	s.saver, err = checkpoint.NewSaver(dir, checkpoint.Options{MaxToKeep: s.config.KeepCheckpointMax(), KeepEveryNHours: s.config.KeepCheckpointEveryNHours()})
	return err
}

// write adds metrics and the positions of inputs to the strategy's snapshot, and writes it.
func (s *Strategy) write(ctx context.Context, snap *strategies.Snapshot, states map[string][]byte) (string, error) {
	extra := states
	if s.asynchronous() {
		for rank, position := range snap.Notes.Positions {
			if rank != s.rank() { // this task's position may be newer than its last step
				extra[saved.InputKey(rank)] = position
			}
		}
	}
	extra[saved.SeedKey] = strconv.AppendInt(nil, s.seed, 10)
	return saved.Write(ctx, s.saver, snap, saved.Extra{Strings: extra, TrainOps: s.trainOps()})
}
