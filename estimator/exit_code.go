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
	"github.com/goestimator/goestimator/internal/distributed/coordinator"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/runconfig"
)

// The exit codes by which a process tells who started it what to do next. Those
// of 128 and more ask to be started again, as TFJob's restart policy ExitCode does.
const (
	ExitDone        = 0
	ExitError       = 1
	ExitMistake     = 2   // a mistake in the configuration, also where it is not that of the others, or of their job
	ExitPeerLost    = 138 // another task was lost past its deadline, or this one's GPU
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

// mistakes are errors that the same configuration brings again.
var mistakes = []error{runconfig.ErrMistake, cluster.ErrOtherJob, distribute.ErrDiffer, collective.ErrMismatch, coordinator.ErrInvalid}

func isAny(err error, list []error) bool {
	return slices.ContainsFunc(list, func(target error) bool { return errors.Is(err, target) })
}

// Interruption returns err as the caller should see it that ended ctx: an error that
// only follows from that end wraps ErrInterrupted; any other is the task's own, and stays.
func Interruption(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ErrInterrupted) || !follows(err) {
		return err
	}
	return &interruption{context.Cause(ctx), err}
}

// interruption is an error that followed from the end of a context.
type interruption struct{ cause, err error }

func (e *interruption) Error() string   { return fmt.Sprintf("interrupted: %v", e.cause) }
func (e *interruption) Unwrap() []error { return []error{ErrInterrupted, e.cause, e.err} }

// consequences are errors of tasks that were asked to end, or whose peers were.
var consequences = []error{ErrInterrupted, context.Canceled, context.DeadlineExceeded, net.ErrClosed,
	distribute.ErrPeerLost, distribute.ErrSessionLost, cluster.ErrPeerLost}

// joinedErrors is the type of what errors.Join returns.
var joinedErrors = reflect.TypeOf(errors.Join(errors.ErrUnsupported))

// follows reports whether a task that was asked to end may fail so for no reason of
// its own. Of errors that were joined all must be such, of those that wrap each other one.
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
		all := reflect.TypeOf(err) == joinedErrors
		for _, inner := range x.Unwrap() {
			if follows(inner) != all {
				return !all
			}
		}
		return all
	}
	return false
}
