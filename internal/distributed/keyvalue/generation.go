package keyvalue

import (
	"context"
	"fmt"
	"time"
)

// line is the sequence of generations of one name.
type line struct {
	last *round // the latest completed one, or nil
	open *round // the current one, nil if no rank has asked
}

// NextGeneration waits until all ranks of g.Name have asked and returns the same new number to all.
func (v view) NextGeneration(ctx context.Context, g Gather, after int64) (Generation, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return v.generation(ctx, g, after, 0)
}

// generation is NextGeneration with patience as in gather.
func (v view) generation(ctx context.Context, g Gather, after int64, patience time.Duration) (Generation, error) {
	b := v.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.admit(v.peer); err != nil {
		return Generation{}, err
	}
	if err := b.check(g); err != nil {
		return Generation{}, err
	}
	if after < 0 || after >= maxGeneration {
		return Generation{}, fmt.Errorf("%w: generation %d of %q, expected 0 to %d", ErrInvalid, after, clip(g.Name), int64(maxGeneration)-1)
	}
	l, err := b.lineOf(g.Name)
	if err != nil {
		return Generation{}, err
	}
	if l.open != nil && !b.live(l.open, time.Now()) {
		l.open = nil
	}
	if l.open == nil && l.last != nil && after < l.last.number && l.last.took(v.peer, g) {
		return Generation{l.last.number, l.last.values}, nil
	}
	if l.open == nil {
		l.open = newRound(g.Name, g.Size)
	}
	r := l.open
	defer func() {
		if l.open == r && len(r.slots) == 0 {
			l.open = nil
		}
		if l.open == nil && l.last == nil {
			delete(b.lines, g.Name)
		}
	}()
	r.after = max(r.after, after)
	s, err := b.enter(r, v.peer, g)
	if err != nil {
		return Generation{}, err
	}
	if r.complete() {
		b.succeed(l)
	}
	if err := b.await(ctx, r, g, s, patience); err != nil {
		return Generation{}, err
	}
	return Generation{r.number, r.values}, nil
}

// Missing lists ranks that do not wait in the current round of a name.
func (v view) Missing(_ context.Context, name string) ([]int, error) {
	b := v.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.admit(v.peer); err != nil {
		return nil, err
	}
	l := b.lines[name]
	if l == nil || l.open == nil || !b.live(l.open, time.Now()) {
		return nil, nil
	}
	return l.open.missing(), nil
}

// maxGeneration keeps an untrusted peer from using up the numbers.
const maxGeneration = 1 << 48

// lineOf returns the line of a name, and makes it if there is none.
func (b *Store) lineOf(name string) (*line, error) {
	l := b.lines[name]
	if l == nil {
		if most := max(b.o.MaxGathers/16, 1); len(b.lines) >= most {
			return nil, fmt.Errorf("%w: generations of %q would be one more than %d", ErrFull, clip(name), most)
		}
		l = &line{}
		b.lines[name] = l
	}
	return l, nil
}

// succeed makes the open round of l, which is complete, its latest generation.
func (b *Store) succeed(l *line) {
	r := l.open
	r.number = r.after + 1
	if l.last != nil {
		r.number = max(r.after, l.last.number) + 1
		b.release(l.last)
	}
	l.last, l.open = r, nil
}
