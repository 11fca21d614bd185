package estimator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distributed/coordinator"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/runconfig"
)

// reportedError is an error that the other tasks know.
type reportedError struct{ err error }

func (e *reportedError) Error() string { return e.err.Error() }
func (e *reportedError) Unwrap() error { return e.err }

// ReportFailure reports to the other tasks of the cluster that this one, where it trains, ends
// with an error after which it is not to be started again (exit code 1 or 2): when it is
// the chief, they end, too. An error that only follows from the end of ctx is no failure.
// Train and TrainAndEvaluate do so with their errors themselves; it is for programs that
// fail outside of them.
func ReportFailure(ctx context.Context, rc runconfig.RunConfig, log *slog.Logger, err error) {
	_ = reportFailure(ctx, rc, log, nil, err) // the caller has the error
}

// reportFailure is ReportFailure of a task that may be in its job. It returns the error as
// [Interruption] does, marked where it was reported to the others.
func reportFailure(ctx context.Context, rc runconfig.RunConfig, log *slog.Logger, j *distribute.Job, err error) error {
	err = Interruption(ctx, err)
	if !fatal(err) || refused(rc, err) || rc.ClusterSpec().Len() == 0 || rc.TaskType() == runconfig.PS || rc.TaskType() == runconfig.Evaluator {
		return err
	}
	if rc.IsChief() && rc.ModelDir() != "" {
		nerr := noteFailure(rc.ModelDir(), err)
		if errors.Is(nerr, ErrLocked) { // the job is another chief's
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
			log.Warn("the other tasks were not told that this one ends with an error", "error", ferr)
		}
	}
	return &reportedError{err}
}

// fatal reports whether an error ends a job, whose other tasks do not know of it. That
// another process trains in this one's place does not.
func fatal(err error) bool {
	if code := ExitCode(err); code != ExitError && code != ExitMistake {
		return false
	}
	return !errors.As(err, new(*reportedError)) && !errors.As(err, new(*distribute.EndError)) &&
		!errors.Is(err, ErrLocked) && !errors.Is(err, coordinator.ErrSuperseded) && !errors.Is(err, ErrInterrupted)
}

// refused reports whether parameter servers do not let the chief go on with their job,
// which then waits for one with the job's settings.
func refused(rc runconfig.RunConfig, err error) bool {
	return rc.IsChief() && rc.NumPS() > 0 && errors.Is(err, distribute.ErrDiffer)
}

// noteFailure tells in model_dir, unless another process trains there, that its training has failed.
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

// untilFailure returns a context that ends when the chief has failed; its cause is then a *distribute.EndError.
func (e *Estimator) untilFailure(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	look := func() (distribute.End, bool) {
		s, err := checkpoint.LoadRunState(atomicfile.OS{}, e.modelDir)
		if err != nil || s.Failed == nil {
			return distribute.End{}, false
		}
		return failedEnd(s.Failed), true
	}
	ends := &distribute.Ends{Since: *lastEnd.Load(), Look: look}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if end, ok := ends.Await(ctx); ok {
			cancel(&distribute.EndError{End: end})
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

func failedEnd(f *checkpoint.Failed) distribute.End {
	return distribute.End{Code: f.Code, Reason: f.Reason, At: f.At}
}
