package keyvalue

import (
	"context"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// DefaultWait bounds a Wait, Gather or NextGeneration whose context has no deadline.
const DefaultWait = 10 * time.Minute

// KeyValue is what tasks share. *Store and *Client implement it.
type KeyValue interface {
	// Set sets a value; the last one stays.
	Set(ctx context.Context, key string, value []byte) error
	// Get returns a value and whether it was set.
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Wait returns a value as soon as it is set, or an error at the end of ctx.
	Wait(ctx context.Context, key string) ([]byte, error)
	// Gather returns the values of all ranks, by rank, as soon as all are there.
	// At the end of ctx it is a *MissingError, which names the ranks that did not come.
	Gather(ctx context.Context, g Gather) ([][]byte, error)
	// Members lists the tasks that have had a Presence, sorted by rank, then by task.
	Members(ctx context.Context) ([]Member, error)
}

// Regrouper numbers the groups that form one after the other. *Store and *Client implement it.
type Regrouper interface {
	// NextGeneration waits until all ranks of g.Name ask and gives all the same
	// new number; after is the number of the generation that the caller was in, 0 if in none.
	NextGeneration(ctx context.Context, g Gather, after int64) (Generation, error)
	// Missing lists ranks that have not yet joined the round of that name, at most 16;
	// none if no round is forming.
	Missing(ctx context.Context, name string) ([]int, error)
}

// Pulse is the heartbeat as the leader takes it. *Store and *Client implement it.
type Pulse interface {
	// Beat tells that the task is there and returns the reason for which the job
	// was asked to stop, "" if it was not. It returns after b.Hold, or at once when
	// there is a stop that the caller does not know.
	Beat(ctx context.Context, b Beat) (stop string, err error)
}

// Gather is one rank's part of a gather.
type Gather struct {
	Name  string // the same on all ranks, used once
	Rank  int    // 0 to Size-1
	Size  int    // number of ranks
	Value []byte
}

// Generation is a group that all ranks agreed to form.
type Generation struct {
	Number int64    // 1 for the first
	Values [][]byte // of all ranks, by rank
}

// State of a member.
type State int

// The states of a member.
const (
	Active State = iota // its heartbeat comes
	Done                // it left, having finished
	Lost                // its heartbeat stopped
)

// String is "active", "done" or "lost".
func (s State) String() string {
	if s < Active || s > Lost {
		return fmt.Sprintf("state %d", int(s))
	}
	return [...]string{"active", "done", "lost"}[s]
}

// Member is a task as the leader knows it.
type Member struct {
	cluster.Peer
	Rank     int
	LastSeen time.Duration // since its last heartbeat
	State    State
	StepSecs float64 // seconds per step, as the task reports; 0: not reported
}

// Beat is one heartbeat.
type Beat struct {
	Rank      int
	Done      bool          // the task leaves, having finished
	KnowsStop bool          // the caller knows of the stop
	Hold      time.Duration // the leader may keep the request for so long
	StepSecs  float64       // that a step takes the task; 0: it does not tell
}
