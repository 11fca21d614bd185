package estimator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/runconfig"
)

// reportedError is an error that was reported to the other tasks.
type reportedError struct{ err error }

func (e *reportedError) Error() string { return e.err.Error() }
func (e *reportedError) Unwrap() error { return e.err }

// ReportFailure reports to the other tasks of the cluster that this task ends with err, if it
// trains and the error rules out a restart (exit code 1 or 2). If it is the chief, the other
// tasks end, too. An error that is only a consequence of the end of ctx is not a failure.
//
// Train and TrainAndEvaluate report their errors themselves; ReportFailure is for programs
// that fail outside of them.
func ReportFailure(ctx context.Context, rc runconfig.RunConfig, log *slog.Logger, err error) {
	_ = reportFailure(ctx, rc, log, nil, err) // the caller has the error
}

// reportFailure is ReportFailure for a task that may already be in its job. It returns the
// error as [Interruption] does, and marks an error that was reported to the others.
func reportFailure(ctx context.Context, rc runconfig.RunConfig, log *slog.Logger, j *distribute.Job, err error) error {
	err = Interruption(ctx, err)
	if !fatal(err) || refused(rc, err) || rc.ClusterSpec().Len() == 0 || rc.TaskType() == runconfig.PS || rc.TaskType() == runconfig.Evaluator {
		return err
	}
	if rc.IsChief() && rc.ModelDir() != "" {
		nerr := noteFailure(rc.ModelDir(), err)
		if errors.Is(nerr, ErrLocked) { // the job belongs to another chief
			return err
		}
		if nerr != nil {
			log.Warn("model_dir does not tell that training has failed", "error", nerr)
		}
	}
	switch alone := rc.NumWorkers() <= 1 && rc.NumPS() == 0; {
	case alone:
	case j != nil:
		j.Fail(ctx, ExitCode(err), err.Error())
	default:
		if ferr := distribute.Fail(ctx, rc, log, ExitCode(err), err.Error()); ferr != nil {
			log.Warn("the other tasks were not informed that this one ends with an error", "error", ferr)
		}
	}
	return &reportedError{err}
}

// fatal reports whether an error ends a job and is unknown to the other tasks. An error
// saying that another process trains in place of this one does not end a job.
func fatal(err error) bool {
	if code := ExitCode(err); code != ExitError && code != ExitMistake {
		return false
	}
	return !errors.As(err, new(*reportedError)) && !errors.As(err, new(*distribute.EndError)) &&
		!errors.Is(err, ErrLocked) && !errors.Is(err, keyvalue.ErrSuperseded) && !errors.Is(err, cluster.ErrTaken) && !errors.Is(err, ErrInterrupted)
}

// refused reports whether parameter servers refuse to continue the chief's job. The
// job then waits for a chief with its settings.
func refused(rc runconfig.RunConfig, err error) bool {
	return rc.IsChief() && rc.NumPS() > 0 && errors.Is(err, distribute.ErrDiffer)
}

// noteFailure records in model_dir that training has failed, unless another process trains there.
func noteFailure(dir string, cause error) error {
	if err := atomicfile.MkdirAll(atomicfile.OS{}, dir); err != nil {
		return fmt.Errorf("model_dir: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return err
	}
	if lock != nil {
		defer lock.Close()
	}
	return checkpoint.UpdateRunState(atomicfile.OS{}, dir, func(s *checkpoint.RunState) {
		s.Failed = &checkpoint.Failed{Code: ExitCode(cause), Reason: cause.Error(), At: time.Now()}
	})
}
