package keyvalue

import (
	"slices"
	"time"
)

// Elastic says when a round is complete if some of its ranks may be absent. Store.Forming
// and Store.Settle are the leader's view of the round.
type Elastic struct {
	Min  int           // the least ranks of a generation
	Size int           // the most ranks of a generation
	Wait time.Duration // how long to wait for the ranks of the first generation
}

// Turnout is what the leader knows about the current round.
type Turnout struct {
	Came   []int         // ranks waiting in it
	Former []int         // ranks of the previous generation; none: there was none
	Gone   []int         // the ranks among these that will not come
	Waited time.Duration // since the first arrived
}

// Complete reports whether the generation may begin with the present ranks: with all
// possible ones, with all of the previous generation that have not gone, or, in the first
// generation, with those that arrived in time.
func (e Elastic) Complete(t Turnout) bool {
	switch {
	case len(t.Came) < max(e.Min, 1):
		return false
	case len(t.Came) >= e.Size:
		return true
	case len(t.Former) == 0:
		return t.Waited >= e.Wait
	}
	return len(t.Missing()) == 0
}

// Missing returns the ranks of the previous generation that have neither arrived nor gone.
func (t Turnout) Missing() []int {
	var out []int
	for _, rank := range t.Former {
		if !slices.Contains(t.Came, rank) && !slices.Contains(t.Gone, rank) {
			out = append(out, rank)
		}
	}
	return out
}

// Candidate is a rank waiting in the current round.
type Candidate struct {
	Rank  int
	Value []byte
}

// Forming lists the ranks that wait in the current round of a name, in order.
func (b *Store) Forming(name string) []Candidate {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lines[name]
	if l == nil || l.open == nil || !b.live(l.open, time.Now()) {
		return nil
	}
	var out []Candidate
	for rank, s := range l.open.slots {
		out = append(out, Candidate{rank, s.value})
	}
	slices.SortFunc(out, func(a, b Candidate) int { return a.Rank - b.Rank })
	return out
}

// Settle completes the current round of a name with these ranks; the other values in the
// Generation are nil. It returns false if a rank has left or another one arrived since
// Forming.
func (b *Store) Settle(name string, ranks []int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lines[name]
	now := time.Now()
	if l == nil || l.open == nil || !b.live(l.open, now) || len(l.open.slots) != len(ranks) {
		return false
	}
	for _, rank := range ranks {
		if l.open.slots[rank] == nil {
			return false
		}
	}
	b.finish(l.open, now)
	b.succeed(l)
	return true
}
