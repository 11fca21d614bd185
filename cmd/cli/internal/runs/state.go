package runs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Phase is the phase of a run.
type Phase string

// The phases.
const (
	Running  Phase = "running"
	Finished Phase = "finished"
	Failed   Phase = "failed"
	Stopped  Phase = "stopped" // interrupted or killed: starting it again resumes training
)

// State is the state of a run.
type State struct {
	Phase   Phase
	Reason  string // why it finished, or failed
	Step    int64  // at the end, or of the newest checkpoint; -1: unknown
	Seconds float64
}

// ReadState reads the state of a run; every part may be missing.
func ReadState(dir string) (State, error) {
	s := State{Phase: Stopped, Step: -1}
	if prefix, err := checkpoint.LatestPrefix(dir); err == nil {
		if step, ok := checkpoint.StepOf(prefix); ok {
			s.Step = step
		}
	}
	in, err := checkpoint.LoadRunState(atomicfile.OS{}, dir)
	if err != nil {
		return s, err
	}
	s.Seconds = in.TrainSeconds
	used, err := estimator.InUse(dir)
	switch {
	case in.Failed != nil:
		s.Phase, s.Reason = Failed, in.Failed.Reason
	case in.Finished != nil:
		s.Phase, s.Reason, s.Step = Finished, in.Finished.Reason, in.Finished.GlobalStep
	case used:
		s.Phase = Running
	}
	return s, err
}

// measure returns the total size of a folder's files and the time of the last change.
func measure(dir string) (size int64, changed time.Time, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		size += info.Size()
		if info.ModTime().After(changed) {
			changed = info.ModTime()
		}
		return nil
	})
	return size, changed, err
}
