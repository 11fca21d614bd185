package distribute

import (
	"errors"
	"fmt"
	"strings"

	strategies "github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distributed/remote"
)

var (
	// ErrSessionLost is wrapped by errors after which the job goes on when every task has called Restore.
	ErrSessionLost = strategies.ErrSessionLost
	// ErrPeerLost is wrapped by errors that tell of a task which was not reached
	// within its deadline. The process should end, to be started again.
	ErrPeerLost = strategies.ErrPeerLost
	// ErrDiffer is wrapped where tasks of one job have other functions, data or hyper-parameters.
	ErrDiffer = strategies.ErrDiffer
	// ErrEnded is wrapped where another task has ended the training: by Restore, and by training functions.
	ErrEnded = strategies.ErrEnded
	// ErrInterrupted is wrapped by errors of training functions whose context, or the context of
	// another task in lock step, has ended. The steps made so far are whole: they can be saved.
	ErrInterrupted = strategies.ErrInterrupted
	// ErrServersLost is wrapped by errors of a Coordinator whose functions found the
	// variables gone: the chief calls Restore, once the parameter servers run again.
	ErrServersLost = remote.ErrServersLost
	// ErrFunction is wrapped by errors that a function returned which a Coordinator had scheduled.
	ErrFunction = remote.ErrFunction
	// ErrCancelled is the error of functions that another function's error has ended: schedule them again.
	ErrCancelled = remote.ErrCancelled
	// ErrClosed is wrapped by errors of a Coordinator that is closed.
	ErrClosed = remote.ErrClosed
	// ErrBuilt is wrapped where a function, a metric or an input comes too late.
	ErrBuilt = errors.New("the strategy has begun: build functions, metrics and inputs before Restore and the first Run")
)

// MismatchError reports that a checkpoint is not of the strategy's functions.
type MismatchError struct {
	Prefix   string
	Problems []string // one for each variable
}

// Error lists the problems.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("checkpoint %s is of other functions: %s: use their model_dir, or an empty one", e.Prefix, strings.Join(e.Problems, "; "))
}
