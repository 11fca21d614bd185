package collective

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// ErrClosed is wrapped by the errors of calls on a closed group.
var ErrClosed = errors.New("the group was closed")

// ErrMismatch is wrapped by errors that report that workers do not run the same
// program: their calls, layouts or settings differ. Forming the group again does
// not help.
var ErrMismatch = errors.New("the workers' programs differ")

// GroupError is the reason why a group is dead. It wraps cluster.ErrPeerLost,
// unless programs differ (ErrMismatch) or this task closed the group (ErrClosed).
type GroupError struct {
	Name       string
	Generation int64
	Err        error // the cause; it names the peer
}

// Error returns "collective: group train generation 3 is dead: ...".
func (e *GroupError) Error() string {
	return fmt.Sprintf("collective: group %s generation %d is dead: %v", e.Name, e.Generation, e.Err)
}

// Unwrap returns the cause and the kind of loss.
func (e *GroupError) Unwrap() []error {
	if errors.Is(e.Err, ErrMismatch) || errors.Is(e.Err, ErrClosed) {
		return []error{e.Err}
	}
	return []error{cluster.ErrPeerLost, e.Err}
}
