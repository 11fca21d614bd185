package pieces

import (
	"container/heap"
	"math/bits"
	"slices"
	"strings"
)

// part is a piece of a text; its number may be the unknown piece's.
type part struct {
	text string
	id   int
}

// split divides a normalized text.
func (m *Model) split(s string, room Room) ([]part, error) {
	switch m.kind {
	case unigram:
		return m.unigrams(s, room)
	case pairs:
		return m.merged(s, room)
	case words:
		return m.named(wordsOf(s)), nil
	}
	texts, err := m.charactersOf(s, room)
	return m.named(texts), err
}

func (m *Model) named(texts []string) []part {
	out := make([]part, len(texts))
	for i, s := range texts {
		out[i] = part{s, m.ID(s)}
	}
	return out
}

// charLen returns the length of a character from its first byte.
func charLen(s string) int {
	return min(max(bits.LeadingZeros8(^s[0]), 1), 4, len(s))
}

// charactersOf treats a piece that is never split as one character.
func (m *Model) charactersOf(s string, room Room) (out []string, err error) {
	for len(s) > 0 {
		if err := room.take(tokenBytes); err != nil {
			return nil, err
		}
		n := m.defined.longest(s)
		if n == 0 {
			n = charLen(s)
		}
		out, s = append(out, s[:n]), s[n:]
	}
	return out, nil
}

// wordsOf begins a word at each space, even if spaces belong to the words before them.
func wordsOf(s string) (out []string) {
	for len(s) > 0 {
		n := len(s)
		if at := strings.Index(s[1:], space); at >= 0 {
			n = at + 1
		}
		out, s = append(out, s[:n]), s[n:]
	}
	return out
}

// unknownPenalty is by how much an unknown character scores below the worst piece.
const unknownPenalty = 10

// unigrams finds the split with the highest sum of scores.
func (m *Model) unigrams(s string, room Room) (out []part, err error) {
	type end struct {
		id, from int
		score    float32
	}
	if err := room.take(24 * len(s)); err != nil {
		return nil, err
	}
	best := make([]end, len(s)+1)
	for i := range best {
		best[i].from = -1
	}
	reach := func(from, to, id int, score float32) {
		if e := &best[to]; e.from < 0 || score > e.score {
			*e = end{id, from, score}
		}
	}
	for from, n := 0, 0; from < len(s); from += n {
		if err := room.take(0); err != nil {
			return nil, err
		}
		n = charLen(s[from:])
		one, before := false, best[from].score
		m.trie.each(s[from:], func(length, id int) {
			if m.is(id, unusedPiece) {
				return
			}
			score := m.pieces[id].score
			if m.is(id, definedPiece) {
				score = float32(float64(float32(length)*m.max) - 0.1)
			}
			reach(from, from+length, id, score+before)
			one = one || length == n
		})
		if !one {
			reach(from, from+n, m.unknown, m.min-unknownPenalty+before)
		}
	}
	for to := len(s); to > 0; to = best[to].from {
		if best[to].from < 0 { // inside a character: only a damaged model has pieces that end there
			return nil, nil
		}
		out = append(out, part{s[best[to].from:to], best[to].id})
	}
	slices.Reverse(out)
	return out, nil
}

// pair is two neighbors that may be merged.
type pair struct {
	left, right, size int
	score             float32
}

// agenda keeps the best pair first; among equal ones, the leftmost.
type agenda []pair

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].score > a[j].score || a[i].score == a[j].score && a[i].left < a[j].left
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(pair)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// symbol is a part of the text during merging.
type symbol struct {
	at, end    int
	prev, next int // -1 for none
	frozen     bool
}

// merger joins pairs of symbols, the best first.
type merger struct {
	m       *Model
	s       string
	symbols []symbol
	agenda  agenda
	undo    map[string][2]string // the pair that an unused piece was made of
}

func (m *Model) merged(s string, room Room) (out []part, err error) {
	g := &merger{m: m, s: s, undo: map[string][2]string{}}
	characters, err := m.charactersOf(s, room)
	if err != nil {
		return nil, err
	}
	if err := room.take(tokenBytes * len(characters)); err != nil {
		return nil, err
	}
	at := 0
	for i, c := range characters {
		g.symbols = append(g.symbols, symbol{at, at + len(c), i - 1, i + 1, m.defined.longest(c) == len(c)})
		at += len(c)
	}
	if len(g.symbols) == 0 {
		return nil, nil
	}
	g.symbols[len(g.symbols)-1].next = -1
	for i := 1; i < len(g.symbols); i++ {
		g.consider(i-1, i)
	}
	for len(g.agenda) > 0 {
		if err := room.take(0); err != nil {
			return nil, err
		}
		g.join(heap.Pop(&g.agenda).(pair))
	}
	for i := 0; i >= 0; i = g.symbols[i].next {
		out = g.parts(s[g.symbols[i].at:g.symbols[i].end], out)
	}
	return out, nil
}

// consider adds a pair if it is a piece.
func (g *merger) consider(left, right int) {
	if left < 0 || right < 0 || g.symbols[left].frozen || g.symbols[right].frozen {
		return
	}
	l, r := g.symbols[left], g.symbols[right]
	text := g.s[l.at:r.end]
	id, ok := g.m.normal[text]
	if !ok {
		return
	}
	heap.Push(&g.agenda, pair{left, right, len(text), g.m.pieces[id].score})
	if g.m.is(id, unusedPiece) {
		g.undo[text] = [2]string{g.s[l.at:l.end], g.s[r.at:r.end]}
	}
}

func (g *merger) join(p pair) {
	left, right := &g.symbols[p.left], &g.symbols[p.right]
	if left.at == left.end || right.at == right.end || right.end-left.at != p.size {
		return // one of them has been merged meanwhile
	}
	left.end, left.next = right.end, right.next
	if right.next >= 0 {
		g.symbols[right.next].prev = p.left
	}
	right.at = right.end
	g.consider(left.prev, p.left)
	g.consider(p.left, left.next)
}

// parts adds a piece or, if it is unused, the pieces that it was made of.
func (g *merger) parts(text string, out []part) []part {
	id := g.m.ID(text)
	halves, ok := g.undo[text]
	if !ok || !g.m.is(id, unusedPiece) {
		return append(out, part{text, id})
	}
	return g.parts(halves[1], g.parts(halves[0], out))
}
