package estimator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/collective"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/runconfig"
)

// The exit codes by which a process tells its supervisor what to do next. Codes of
// 128 and more ask for a restart, as TFJob's restart policy ExitCode does.
const (
	ExitDone        = 0
	ExitError       = 1
	ExitMistake     = 2   // a mistake in the configuration, also one that differs from the other tasks' configuration or from the job's
	ExitPeerLost    = 138 // another task was lost past its deadline, or this task's GPU was lost
	ExitInterrupted = 143 // SIGTERM, after a checkpoint
)

// ExitCode returns the exit code for what Train, Evaluate or TrainAndEvaluate returned.
func ExitCode(err error) int {
	var end *distribute.EndError
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, ErrInterrupted) && follows(err):
		return ExitInterrupted
	case errors.Is(err, ErrInterrupted):
		return ExitError
	case errors.As(err, &end):
		return end.Code
	case isAny(err, mistakes), errors.As(err, new(*UnknownMetricError)):
		return ExitMistake
	case errors.Is(err, ErrPeerLost), errors.Is(err, device.ErrLost):
		return ExitPeerLost
	}
	return ExitError
}

// mistakes are errors that happen again with the same configuration.
var mistakes = []error{runconfig.ErrMistake, cluster.ErrOtherJob, cluster.ErrTaken, distribute.ErrDiffer, collective.ErrMismatch, keyvalue.ErrInvalid}

func isAny(err error, list []error) bool {
	return slices.ContainsFunc(list, func(target error) bool { return errors.Is(err, target) })
}

// Interruption returns err as the caller that ended ctx should see it: an error that only
// follows from the end of ctx is wrapped with ErrInterrupted. Any other error is the
// task's own, and is returned unchanged.
func Interruption(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ErrInterrupted) || !follows(err) {
		return err
	}
	return &interruption{context.Cause(ctx), err}
}

// interruption is an error that follows from the end of a context.
type interruption struct{ cause, err error }

func (e *interruption) Error() string   { return fmt.Sprintf("interrupted: %v", e.cause) }
func (e *interruption) Unwrap() []error { return []error{ErrInterrupted, e.cause, e.err} }

// consequences are errors of tasks that were asked to end, or whose peers were.
var consequences = []error{ErrInterrupted, context.Canceled, context.DeadlineExceeded, net.ErrClosed,
	distribute.ErrPeerLost, distribute.ErrSessionLost, cluster.ErrPeerLost}

// multiError is the type of the result of errors.Join.
var multiError = reflect.TypeOf(errors.Join(errors.ErrUnsupported))

// follows reports whether err may be only a consequence of being asked to end. That must
// hold for each error of an errors.Join, but only for one of the errors that another
// error wraps.
func follows(err error) bool {
	for _, c := range consequences {
		if err == c {
			return true
		}
	}
	switch x := err.(type) {
	case interface{ GRPCStatus() *status.Status }:
		switch x.GRPCStatus().Code() {
		case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable:
			return true
		}
	case interface{ Unwrap() error }:
		inner := x.Unwrap()
		return inner != nil && follows(inner)
	case interface{ Unwrap() []error }:
		all := reflect.TypeOf(err) == multiError
		for _, inner := range x.Unwrap() {
			if follows(inner) != all {
				return !all
			}
		}
		return all
	}
	return false
}
