package estimator

import (
	"errors"

	"github.com/goestimator/goestimator/internal/device"
)

// The exit codes by which a process tells who started it what to do next. Those
// of 128 and more ask to be started again, as TFJob's restart policy ExitCode does.
const (
	ExitDone        = 0
	ExitError       = 1
	ExitPeerLost    = 138 // another task was lost past its deadline, or this one's GPU
	ExitInterrupted = 143 // SIGTERM, after a checkpoint
)

// ExitCode returns the exit code for what Train, Evaluate or TrainAndEvaluate returned.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, ErrInterrupted):
		return ExitInterrupted
	case errors.Is(err, ErrPeerLost), errors.Is(err, device.ErrLost):
		return ExitPeerLost
	}
	return ExitError
}
