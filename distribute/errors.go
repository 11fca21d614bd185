package distribute

import (
	"errors"
	"fmt"
	"strings"

	strategies "github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distributed/remote"
)

var (
	// ErrSessionLost is wrapped by errors after which the job continues once every task has called Restore.
	ErrSessionLost = strategies.ErrSessionLost
	// ErrPeerLost is wrapped by errors saying that another task was not reached within
	// its deadline. The process should end, to be started again.
	ErrPeerLost = strategies.ErrPeerLost
	// ErrDiffer is wrapped if tasks of a job have different functions, data or hyper-parameters.
	ErrDiffer = strategies.ErrDiffer
	// ErrEnded is wrapped by errors of Restore and training functions if another task has ended the training.
	ErrEnded = strategies.ErrEnded
	// ErrInterrupted is wrapped by errors of training functions if their context, or the
	// context of another task in lock step, has ended. All steps made so far are complete and can be saved.
	ErrInterrupted = strategies.ErrInterrupted
	// ErrServersLost is wrapped by errors of a Coordinator if variables were lost: the
	// chief calls Restore once the parameter servers run again.
	ErrServersLost = remote.ErrServersLost
	// ErrFunction is wrapped by errors that functions scheduled by a Coordinator returned.
	ErrFunction = remote.ErrFunction
	// ErrCancelled is the error of functions that were cancelled after another function's error: schedule them again.
	ErrCancelled = remote.ErrCancelled
	// ErrClosed is wrapped by errors of a Coordinator that is closed.
	ErrClosed = remote.ErrClosed
	// ErrBuilt is wrapped if a function, a metric or an input is made too late.
	ErrBuilt = errors.New("the strategy has begun: build functions, metrics and inputs before Restore and the first Run")
)

// MismatchError reports that a checkpoint does not fit the strategy's functions.
type MismatchError struct {
	Prefix   string
	Problems []string // one for each variable
}

// Error lists the problems.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("checkpoint %s is of other functions: %s: use their model_dir, or an empty one", e.Prefix, strings.Join(e.Problems, "; "))
}
