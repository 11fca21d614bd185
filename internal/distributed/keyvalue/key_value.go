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
	// Set sets a value, in place of an earlier one.
	Set(ctx context.Context, key string, value []byte) error
	// Get returns a value and whether it was set.
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Wait returns a value as soon as it is set, or an error at the end of ctx.
	Wait(ctx context.Context, key string) ([]byte, error)
	// Gather returns the values of all ranks, by rank, as soon as all have arrived. At the end
	// of ctx it returns a *MissingError, which names the missing ranks.
	Gather(ctx context.Context, g Gather) ([][]byte, error)
	// Members lists the tasks that have had a Presence, sorted by rank, then by task.
	Members(ctx context.Context) ([]Member, error)
}

// Regrouper numbers successive groups. *Store and *Client implement it.
type Regrouper interface {
	// NextGeneration waits until all ranks of g.Name have asked and returns the same new
	// number to all; after is the number of the generation that the caller was in, 0 if in
	// none.
	NextGeneration(ctx context.Context, g Gather, after int64) (Generation, error)
	// Missing lists ranks that have not yet joined the round of that name, at most 16;
	// none if no round is forming.
	Missing(ctx context.Context, name string) ([]int, error)
}

// Pulse is the leader's side of heartbeats. *Store and *Client implement it.
type Pulse interface {
	// Beat reports that the task is alive and returns the reason for which the job was asked
	// to stop, "" if it was not. It returns after b.Hold, or as soon as there is a stop that
	// the caller does not know.
	Beat(ctx context.Context, b Beat) (stop string, err error)
}

// Gather is one rank's part in a gather.
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
	Active State = iota // its heartbeat arrives
	Done                // it left after finishing
	Lost                // its heartbeat stopped
)

// String is "active", "done" or "lost".
func (s State) String() string {
	if s < Active || s > Lost {
		return fmt.Sprintf("state %d", int(s))
	}
	return [...]string{"active", "done", "lost"}[s]
}

// Member is a task as known to the leader.
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
	Done      bool          // the task leaves after finishing
	KnowsStop bool          // the caller knows of the stop
	Hold      time.Duration // how long the leader may keep the request
	StepSecs  float64       // seconds per step of the task; 0: not reported
}
