package estimator

import (
	"errors"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/estimator/hooks"
)

// TakeOver opens the chief's files, so that this worker can take its place. It fails with ErrLocked
// while the chief renews its lock. It also fails if the file system has no locks.
func (t *training) TakeOver(silence time.Duration) error {
	if t.files.saver != nil {
		return nil
	}
	err := t.lock(silence)
	if err == nil {
		err = t.files.open(t.est)
	}
	if err != nil {
		t.hold.keep(nil)
		err = errors.Join(err, t.files.close())
		*t.files = trainingFiles{}
	}
	return err
}

// lock locks model_dir. It replaces the lock of a chief that did not renew it for 3/4 of silence.
func (t *training) lock(silence time.Duration) (err error) {
	f := t.files
	f.lock, err = lockDir(t.est.modelDir)
	if stale := t.hold.lapsed(silence * 3 / 4); errors.Is(err, ErrLocked) && stale != nil {
		t.est.log.Warn("the process that has model_dir locked stands still: its lock is replaced", "silent_secs", silence.Seconds())
		f.lock, err = replaceLock(t.est.modelDir, stale)
	}
	if err == nil && f.lock == nil {
		return errors.New("the file system of model_dir has no locks: whether the chief has ended is not known")
	}
	t.hold.keep(f.lock)
	return err
}

// Tend renews this task's lock on model_dir, or watches another's.
func (t *training) Tend() error { return t.hold.Tend() }

// contested returns the error of a chief that cannot lock model_dir. In an elastic job a worker may have taken its place: the
// chief is asked to start again, and then finds the new chief.
func (e *Estimator) contested(err error) error {
	if e.elastic() && errors.Is(err, ErrLocked) {
		return fmt.Errorf("%w: %w", ErrPeerLost, err)
	}
	return err
}

// promote makes this worker the chief, once it has taken the chief's place: from then on it saves checkpoints
// and writes summaries.
func (t *training) promote() error {
	e := t.est
	if t.files.saver == nil || e.isChief() {
		return nil
	}
	e.place = chiefsPlace
	if t.options.bare {
		return nil
	}
	before := len(t.loop.hooks)
	all, err := e.chiefHooks(t.session, t.options, append([]hooks.Hook{}, t.loop.hooks...))
	if err != nil {
		return err
	}
	for _, h := range all[before:] {
		if err := h.Begin(t.loop.view); err != nil {
			return err
		}
	}
	t.checkpoints.setStateful(all[before:])
	t.loop.hooks = hooks.Sort(all)
	if err := t.session.prepare(); err != nil {
		return err
	}
	return t.files.describe(e, t.session.program, t.progress.step)
}
