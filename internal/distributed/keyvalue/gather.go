package keyvalue

import (
	"context"
	"fmt"
	"time"
)

// Gather returns the values of all ranks, by rank, as soon as all have arrived.
func (v view) Gather(ctx context.Context, g Gather) ([][]byte, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return v.gather(ctx, g, 0)
}

// gather is Gather for at most patience, if that is positive: then the error is a
// MissingError of errPending, and the rank stays until its lease ends.
func (v view) gather(ctx context.Context, g Gather, patience time.Duration) ([][]byte, error) {
	b := v.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.admit(v.peer); err != nil {
		return nil, err
	}
	if err := b.check(g); err != nil {
		return nil, err
	}
	b.sweep(time.Now())
	r := b.rounds[g.Name]
	switch {
	case r == nil && len(b.rounds) >= b.o.MaxGathers && !b.forget():
		return nil, fmt.Errorf("%w: gather %q would be one more than %d", ErrFull, clip(g.Name), b.o.MaxGathers)
	case r == nil:
		r = newRound(g.Name, g.Size)
		b.rounds[g.Name] = r
	case r.complete() && r.took(v.peer, g):
		return r.values, nil
	case r.complete():
		return nil, fmt.Errorf("gather %q as rank %d: %w", clip(g.Name), g.Rank, ErrStale)
	}
	defer func() {
		if b.rounds[g.Name] == r && !r.complete() && len(r.slots) == 0 {
			delete(b.rounds, g.Name)
		}
	}()
	s, err := b.enter(r, v.peer, g)
	if err != nil {
		return nil, err
	}
	if r.complete() {
		b.over = append(b.over, g.Name)
	}
	if err := b.await(ctx, r, g, s, patience); err != nil {
		return nil, err
	}
	return r.values, nil
}

// forget drops the oldest finished gather, with its name.
func (b *Store) forget() bool {
	if len(b.over) == 0 {
		return false
	}
	b.release(b.rounds[b.over[0]])
	delete(b.rounds, b.over[0])
	b.over = b.over[1:]
	return true
}

// release drops the values of a finished round.
func (b *Store) release(r *round) {
	for _, value := range r.values {
		b.bytes -= len(value)
	}
	r.values = nil
	r.slots = nil
}

// sweep drops, at most once a second, the values of gathers that are past their
// linger time, and the gathers that all ranks have left.
func (b *Store) sweep(now time.Time) {
	if now.Sub(b.swept) < time.Second {
		return
	}
	b.swept = now
	for name, r := range b.rounds {
		switch {
		case !r.complete():
			if !b.live(r, now) {
				delete(b.rounds, name)
			}
		case r.values != nil && now.Sub(r.ended) > b.o.Linger:
			b.release(r)
		}
	}
}
