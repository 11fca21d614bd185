// Package frequent counts the most frequent values of a stream in bounded memory.
//
// It is the algorithm of J. Misra and D. Gries, Finding repeated elements (1982). Up to a limit of different values, all counts are
// exact. Beyond it, a count may be too low by at most the number of values divided by the limit: rare values may be lost, frequent
// ones never are.
package frequent

import (
	"cmp"
	"slices"
)

// Counter counts values. Its results depend only on the values and their order.
type Counter[K cmp.Ordered] struct {
	counts  map[K]*int64
	limit   int
	dropped int64
	size    func(K) int // bytes of a value; nil: not limited
	bytes   int         // of all values
	most    int         // bytes
}

// New returns a Counter of at most limit different values.
func New[K cmp.Ordered](limit int) *Counter[K] {
	return &Counter[K]{counts: map[K]*int64{}, limit: max(limit, 1)}
}

// NewOfBytes is New with a limit on the total bytes of the values. A value that alone exceeds it is not counted.
func NewOfBytes[K cmp.Ordered](limit, most int, size func(K) int) *Counter[K] {
	c := New[K](limit)
	c.size, c.most = size, most
	return c
}

func (c *Counter[K]) sizeOf(v K) int {
	if c.size == nil {
		return 0
	}
	return c.size(v)
}

// Add counts a value.
func (c *Counter[K]) Add(v K) {
	if n := c.counts[v]; n != nil { // one map lookup for a known value
		*n++
		return
	}
	size := c.sizeOf(v)
	switch {
	case size > c.most && c.size != nil:
		c.dropped++
		return
	case len(c.counts) < c.limit && c.bytes+size <= c.most:
		one := int64(1)
		c.counts[v] = &one
		c.bytes += size
		return
	}
	c.dropped++
	for k, n := range c.counts {
		if *n == 1 {
			delete(c.counts, k)
			c.bytes -= c.sizeOf(k)
			continue
		}
		*n--
	}
}

// Exact reports whether all values were counted exactly.
func (c *Counter[K]) Exact() bool { return c.dropped == 0 }

// Len is the number of counted values.
func (c *Counter[K]) Len() int { return len(c.counts) }

// Count returns the count of a value, 0 if it is not counted.
func (c *Counter[K]) Count(v K) int64 {
	if n := c.counts[v]; n != nil {
		return *n
	}
	return 0
}

// Entry is a value with its count.
type Entry[K cmp.Ordered] struct {
	Value K
	Count int64
}

// Top returns the n most frequent values; among equally frequent ones, the smaller first. n < 0: all.
func (c *Counter[K]) Top(n int) []Entry[K] {
	out := make([]Entry[K], 0, len(c.counts))
	for v, count := range c.counts {
		out = append(out, Entry[K]{v, *count})
	}
	slices.SortFunc(out, func(a, b Entry[K]) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	if n >= 0 && len(out) > n {
		out = out[:n]
	}
	return out
}
