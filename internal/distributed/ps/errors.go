package ps

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// ErrReset is wrapped if a parameter server does not have the session that the
// client joined: it was restarted, the chief was restarted, or a synchronous step
// failed on another server. Connect again.
var ErrReset = errors.New("a parameter server lost its state or began a new session")

// ErrPlan is wrapped if the servers hold variables of another plan.
var ErrPlan = errors.New("the parameter servers hold another model")

// ErrExists is wrapped by the error of Create without Replace if there is a
// session.
var ErrExists = errors.New("the parameter servers have a session already")

// ErrNotConnected is wrapped by the errors of calls that need a session before
// there is one.
var ErrNotConnected = errors.New("not connected to the parameter servers: call WaitReady or Create first")

// FinishedError reports the end of the training that the client tried to join.
type FinishedError struct {
	Task cluster.Task // the server that reported it
	Outcome
}

func (e *FinishedError) Error() string {
	return fmt.Sprintf("parameter server %v: training has ended (%s), exit code %d", e.Task, e.Reason, e.Code)
}

// explain adds the task and advice to the error of a call.
func explain(task cluster.Task, err error) error {
	var known error
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.Aborted:
		known = ErrReset
	case codes.AlreadyExists:
		known = ErrExists
	}
	if known == nil {
		return fmt.Errorf("parameter server %v: %w", task, err)
	}
	return fmt.Errorf("parameter server %v: %w: %w", task, known, err)
}
