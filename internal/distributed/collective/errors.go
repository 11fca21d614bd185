package collective

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// ErrClosed is in the chain of errors of calls on a group after its Close.
var ErrClosed = errors.New("the group was closed")

// ErrMismatch is in the chain of errors that say that workers do not run the same
// program: they call something else, with another layout, or formed the group with
// other settings. Forming the group again does not help.
var ErrMismatch = errors.New("the workers' programs differ")

// GroupError says why a group is dead. Its chain holds cluster.ErrPeerLost, unless
// programs differ (ErrMismatch) or this task closed the group (ErrClosed).
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
