package keyvalue

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// stopKey is the value that asks all tasks to stop; it is the reason.
const stopKey = "keyvalue/stop"

// history is the known processes of a task.
type history struct {
	current uint64
	former  []uint64 // the latest maxFormer of them
}

const maxFormer = 64

// admit records the process that asks and refuses processes with a successor.
func (b *Store) admit(p cluster.Peer) error {
	if p.Incarnation == 0 {
		return nil
	}
	h := b.tasks[p.Task]
	switch {
	case h == nil && len(b.tasks) >= b.o.MaxMembers:
		return fmt.Errorf("%w: %v would be one more than %d tasks", ErrFull, p.Task, b.o.MaxMembers)
	case h == nil:
		b.tasks[p.Task] = &history{current: p.Incarnation}
	case h.current == p.Incarnation:
	case slices.Contains(h.former, p.Incarnation):
		return fmt.Errorf("%v (incarnation %x): %w", p.Task, p.Incarnation, ErrSuperseded)
	default:
		h.former = append(h.former, h.current)
		h.former = h.former[max(0, len(h.former)-maxFormer):]
		h.current = p.Incarnation
	}
	return nil
}

// member is a task with a Presence.
type member struct {
	peer cluster.Peer
	rank int
	seen time.Time
	done bool
	secs float64
}

// Beat records that the task is alive.
func (v view) Beat(ctx context.Context, beat Beat) (string, error) {
	b := v.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.admit(v.peer); err != nil {
		return "", err
	}
	m, err := b.memberOf(v.peer, beat)
	if err != nil {
		return "", err
	}
	m.seen = time.Now()
	if !beat.Done && beat.Hold > 0 && !(beat.KnowsStop && b.stopped()) {
		b.mu.Unlock()
		_, _, err = v.wait(ctx, stopKey, min(beat.Hold, b.o.LostAfter))
		b.mu.Lock()
		if err == nil {
			m.seen = time.Now()
		}
	}
	if b.stopped() {
		return string(b.values[stopKey].value), err
	}
	return "", err
}

func (b *Store) stopped() bool {
	e := b.values[stopKey]
	return e != nil && e.isSet()
}

// memberOf returns the entry of the process that sends the heartbeat, and makes it if necessary.
func (b *Store) memberOf(p cluster.Peer, beat Beat) (*member, error) {
	if beat.Rank < 0 || beat.Rank >= b.o.MaxMembers {
		return nil, fmt.Errorf("%w: %v has rank %d, expected 0 to %d", ErrInvalid, p.Task, beat.Rank, b.o.MaxMembers-1)
	}
	m := b.members[p.Task]
	if m == nil && len(b.members) >= b.o.MaxMembers {
		return nil, fmt.Errorf("%w: %v would be one more than %d members", ErrFull, p.Task, b.o.MaxMembers)
	}
	if m == nil || m.peer != p {
		m = &member{peer: p}
		b.members[p.Task] = m
	}
	m.rank, m.done, m.secs = beat.Rank, beat.Done, beat.StepSecs
	return m, nil
}

// Members lists the tasks that have had a Presence, sorted by rank, then by task.
func (v view) Members(context.Context) ([]Member, error) {
	b := v.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.admit(v.peer); err != nil {
		return nil, err
	}
	out := make([]Member, 0, len(b.members))
	for _, m := range b.members {
		one := Member{Peer: m.peer, Rank: m.rank, LastSeen: time.Since(m.seen), StepSecs: m.secs}
		switch {
		case m.done:
			one.State = Done
		case one.LastSeen > b.o.LostAfter:
			one.State = Lost
		}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, c Member) int {
		return cmp.Or(cmp.Compare(a.Rank, c.Rank), compareTasks(a.Task, c.Task))
	})
	return out, nil
}

func compareTasks(a, b cluster.Task) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Index, b.Index))
}
