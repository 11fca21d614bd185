package estimator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// noteStart clears an earlier run's record of its end, and refuses to train after too
// many starts without a new checkpoint. It returns the step at which an earlier run
// used up its input, 0 for none.
func (e *Estimator) noteStart() (inputEnded int64, err error) {
	limit := e.config.MaxRestarts()
	var failed error
	err = checkpoint.UpdateRunState(atomicfile.OS{}, e.modelDir, func(s *checkpoint.RunState) {
		inputEnded, s.Finished, s.Failed = s.InputEnded, nil, nil
		if s.Failures == nil {
			return
		}
		if s.Failures.GlobalStep != e.savedStep() {
			s.Failures = nil
			return
		}
		if n := len(s.Failures.Reasons); limit > 0 && n >= limit {
			failed = fmt.Errorf("gave up after %d starts without a new checkpoint (run.max_restarts); the reasons, the last first: %v: remove %s from model_dir to try again",
				n, reversed(s.Failures.Reasons), checkpoint.RunStateFile)
		}
	})
	return inputEnded, errors.Join(err, failed)
}

// noteInput records which files the input of a cluster's chief has.
func (t *training) noteInput() error {
	if t.est.config.ClusterSpec().Len() == 0 {
		return nil
	}
	return checkpoint.UpdateRunState(t.files.fs, t.est.modelDir, func(s *checkpoint.RunState) { s.Input = inputs.SourceFiles(t.input.ds) })
}

// compareInput warns if a worker's input has other files than the chief's. That is no error, since tasks may have files
// of their own. A worker that does not share the chief's model_dir cannot compare.
func (t *training) compareInput() {
	if t.est.config.ClusterSpec().Len() == 0 || t.est.isChief() {
		return
	}
	s, err := checkpoint.LoadRunState(atomicfile.OS{}, t.est.modelDir)
	if err != nil || s.Input == "" {
		return // others report a model_dir that cannot be read
	}
	mine := inputs.SourceFiles(t.input.ds)
	if mine == "" || s.Input == mine {
		return
	}
	t.est.log.Warn("the input of this task has other files than the chief's: it trains on these, and rows may be trained on twice or never; give all tasks the same files, or check input.files and data_dir here",
		"files", mine, "chief", s.Input)
}

// savedStep is the step of the newest checkpoint, -1 for none.
func (e *Estimator) savedStep() int64 {
	prefix, err := checkpoint.LatestPrefix(e.modelDir)
	if err != nil {
		return -1
	}
	step, _ := checkpoint.StepOf(prefix)
	return step
}

func reversed(in []string) []string {
	var out []string
	for i := len(in) - 1; i >= 0 && len(out) < 5; i-- {
		out = append(out, in[i])
	}
	return out
}

// requireUnused fails on the chief if another training is running in model_dir, since that one records how it ends.
func (e *Estimator) requireUnused() error {
	if !e.isChief() {
		return nil
	}
	used, err := InUse(e.modelDir)
	if err == nil && used {
		err = fmt.Errorf("%w, which goes on: stop it, or choose another model_dir", ErrLocked)
	}
	return err
}

// noteSkipped records for the other tasks that there was nothing left to train, even
// if an earlier run recorded a failure.
func (e *Estimator) noteSkipped(step int64) error {
	if !e.isChief() {
		return nil
	}
	if s, err := checkpoint.LoadRunState(atomicfile.OS{}, e.modelDir); err != nil || s.Finished != nil && s.Failed == nil {
		return err
	}
	return checkpoint.UpdateRunState(atomicfile.OS{}, e.modelDir, func(s *checkpoint.RunState) {
		s.Finished, s.Failed = &checkpoint.Finished{GlobalStep: step, Reason: StopMaxSteps, At: time.Now()}, nil
	})
}

// noteEnd records that training is over, or that it failed if there are no other tasks (see reportFailure), or counts
// a failure after which the chief chose a restart.
func (t *training) noteEnd(cause error) error {
	if t.files.saver != nil && t.est.config.ClusterSpec().Len() == 0 && fatal(cause) && !errors.Is(cause, context.Canceled) {
		return checkpoint.UpdateRunState(t.files.fs, t.est.modelDir, func(s *checkpoint.RunState) {
			s.Failed = &checkpoint.Failed{Code: ExitCode(cause), Reason: cause.Error(), At: time.Now()}
		})
	}
	if t.files.saver == nil || cause != nil && !errors.Is(cause, ErrPeerLost) || errors.Is(cause, errDeposed) {
		return nil
	}
	return checkpoint.UpdateRunState(t.files.fs, t.est.modelDir, func(s *checkpoint.RunState) {
		if cause == nil {
			s.Finished, s.Failures = &checkpoint.Finished{GlobalStep: t.progress.step, Reason: t.progress.reason, At: time.Now()}, nil
			s.InputEnded = t.stepBehindInput()
			return
		}
		step := t.est.savedStep()
		if s.Failures == nil || s.Failures.GlobalStep != step {
			s.Failures = &checkpoint.Failures{GlobalStep: step}
		}
		s.Failures.Reasons = append(s.Failures.Reasons, cause.Error())
	})
}

// stepBehindInput returns the step at which this training used up its input; 0 if it did not, or has other tasks.
func (t *training) stepBehindInput() int64 {
	if t.shared != nil || !t.inputUsedUp() {
		return 0
	}
	return t.progress.step
}

// inputUsedUp reports whether training has come to the end of its input. If max_steps ended it, inputUsedUp tries to read
// another batch, but not from a function of the program: its rows may come only once, as from a channel, and it may block.
func (t *training) inputUsedUp() bool {
	if t.progress.reason != StopMaxSteps || inputs.Generated(t.input.ds) {
		return t.progress.reason == StopEndOfInput
	}
	ctx, cancel := context.WithTimeout(t.whole, leaveTime)
	defer cancel()
	batches, err := t.input.next(ctx)
	return err == nil && len(batches) == 0
}
