package keyvalue

import (
	"slices"
	"time"
)

// Elastic says when a round of a name whose ranks may be absent is complete. Store.Forming
// and Store.Settle are the round as the leader sees it.
type Elastic struct {
	Min  int           // ranks that a generation has at least
	Size int           // ranks that there may be
	Wait time.Duration // how long the ranks of the first generation are waited for
}

// Turnout is what the leader knows of a round that forms.
type Turnout struct {
	Came   []int         // ranks that wait in it
	Former []int         // ranks of the generation before it; none: there was none
	Gone   []int         // of these the ranks that will not come
	Waited time.Duration // since the first came
}

// Complete reports whether the generation may begin with those that came: with
// all there may be, with all of the generation before that have not gone, or with
// the first that came in time.
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

// Missing are the ranks of the generation before that have neither come nor gone.
func (t Turnout) Missing() []int {
	var out []int
	for _, rank := range t.Former {
		if !slices.Contains(t.Came, rank) && !slices.Contains(t.Gone, rank) {
			out = append(out, rank)
		}
	}
	return out
}

// Candidate is a rank that waits in a round that forms.
type Candidate struct {
	Rank  int
	Value []byte
}

// Forming lists the ranks that wait in the round which forms under a name, in order.
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

// Settle completes the round which forms under a name with these ranks; the values of
// the others are nil in the Generation. It reports whether it did: not where one has
// left or another one came since Forming.
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
