package keyvalue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// round is one meeting of all ranks.
type round struct {
	name   string
	size   int
	slots  map[int]*slot // the present ranks; once complete, all
	after  int64         // NextGeneration: the newest number that any rank in it had
	number int64         // NextGeneration: its number, once complete
	done   chan struct{} // closed when complete
	ended  time.Time
	values [][]byte // by rank, once complete and until its linger time ends
}

// slot is a present rank.
type slot struct {
	peer    cluster.Peer
	value   []byte
	waiters int           // waiting requests
	lease   time.Time     // without waiters, the rank is present until then
	gone    chan struct{} // closed when another process took it
}

// errPending: the time of a request ended, but not the rank's.
var errPending = errors.New("pending")

func newRound(name string, size int) *round {
	return &round{name: name, size: size, slots: map[int]*slot{}, done: make(chan struct{})}
}

func (r *round) complete() bool { return !r.ended.IsZero() }

// took reports whether r is the answer to this request of g by p.
func (r *round) took(p cluster.Peer, g Gather) bool {
	s := r.slots[g.Rank]
	return r.complete() && r.values != nil && s != nil && s.peer == p && g.Size == r.size && bytes.Equal(s.value, g.Value)
}

// live removes ranks whose lease has ended and reports whether any is left.
func (b *Store) live(r *round, now time.Time) bool {
	for rank, s := range r.slots {
		if s.waiters == 0 && now.After(s.lease) {
			b.vacate(r, rank)
		}
	}
	return len(r.slots) > 0
}

// vacate removes a rank from an incomplete round.
func (b *Store) vacate(r *round, rank int) {
	s := r.slots[rank]
	close(s.gone)
	b.bytes -= len(s.value)
	delete(r.slots, rank)
}

// enter adds p to r, which is incomplete, and completes r if p is the last.
func (b *Store) enter(r *round, p cluster.Peer, g Gather) (*slot, error) {
	now := time.Now()
	b.live(r, now)
	s := r.slots[g.Rank]
	if s != nil && s.peer != p {
		if s.peer.Task != p.Task {
			return nil, fmt.Errorf("%w: gather %q: %v comes as rank %d, which is %v", ErrInvalid, clip(g.Name), p.Task, g.Rank, s.peer.Task)
		}
		b.vacate(r, g.Rank)
		s = nil
	}
	if s != nil && r.size == g.Size && bytes.Equal(s.value, g.Value) {
		s.waiters++
		return s, nil
	}
	for rank := range r.slots {
		if r.size != g.Size {
			return nil, fmt.Errorf("%w: gather %q: rank %d says that there are %d ranks, rank %d that there are %d", ErrInvalid, clip(g.Name), g.Rank, g.Size, rank, r.size)
		}
	}
	r.size = g.Size
	old := &entry{}
	if s != nil {
		old.value = s.value
	}
	if err := b.reserve(g.Value, old); err != nil {
		return nil, fmt.Errorf("gather %q: %w", clip(g.Name), err)
	}
	if s == nil {
		s = &slot{peer: p, gone: make(chan struct{})}
		r.slots[g.Rank] = s
	}
	s.value = bytes.Clone(g.Value)
	s.waiters++
	if len(r.slots) == r.size {
		b.finish(r, now)
	}
	return s, nil
}

func (b *Store) finish(r *round, now time.Time) {
	r.ended = now
	r.values = make([][]byte, r.size)
	for rank, s := range r.slots {
		r.values[rank] = s.value
	}
	close(r.done)
}

// await waits in s until r completes; it is called with the lock held.
func (b *Store) await(ctx context.Context, r *round, g Gather, s *slot, patience time.Duration) error {
	if !r.complete() {
		b.mu.Unlock()
		err := pause(ctx, patience, r.done, s.gone)
		b.mu.Lock()
		s.waiters--
		switch {
		case r.complete():
		case r.slots[g.Rank] != s:
			return fmt.Errorf("gather %q as rank %d: %w", clip(g.Name), g.Rank, ErrStale)
		case err != nil:
			missing := &MissingError{Name: clip(g.Name), Size: r.size, Ranks: r.missing(), Err: err}
			if s.waiters == 0 {
				b.vacate(r, g.Rank)
			}
			return missing
		default:
			s.lease = time.Now().Add(b.o.Lease)
			return &MissingError{Name: clip(g.Name), Size: r.size, Ranks: r.missing(), Err: errPending}
		}
	}
	if r.slots[g.Rank] != s {
		return fmt.Errorf("gather %q as rank %d: %w", clip(g.Name), g.Rank, ErrStale)
	}
	return nil
}

// missing lists absent ranks, at most maxNamed.
func (r *round) missing() []int {
	out := []int{}
	for rank := 0; rank < r.size && len(out) < maxNamed; rank++ {
		if r.slots[rank] == nil {
			out = append(out, rank)
		}
	}
	return out
}

// check refuses invalid gathers.
func (b *Store) check(g Gather) error {
	switch {
	case g.Name == "" || len(g.Name) > maxName:
		return fmt.Errorf("%w: a name of %d bytes, expected 1 to %d", ErrInvalid, len(g.Name), maxName)
	case g.Size < 1 || g.Rank < 0 || g.Rank >= g.Size:
		return fmt.Errorf("%w: gather %q: rank %d of %d ranks", ErrInvalid, clip(g.Name), g.Rank, g.Size)
	case g.Size > b.o.MaxMembers:
		return fmt.Errorf("%w: gather %q of %d ranks, expected at most %d", ErrFull, clip(g.Name), g.Size, b.o.MaxMembers)
	}
	return nil
}
