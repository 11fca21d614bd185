package topn

import "slices"

// Top keeps the best of all values that are pushed. Of equal values it keeps the same ones, and extracts them in the same order, as
// TensorFlow's gtl::TopN, by the same moves of a binary heap whose root is the worst.
type Top[T any] struct {
	limit  int
	all    []T // limit+1 elements once it is a heap; the last is unused
	heaped bool
	known  bool // all[0] is the worst
	better func(a, b T) bool
}

// New returns an empty Top for limit values; better reports whether a comes before b.
func New[T any](limit int, better func(a, b T) bool) *Top[T] {
	return &Top[T]{limit: limit, better: better}
}

// Len returns the number of values kept.
func (t *Top[T]) Len() int { return min(len(t.all), t.limit) }

// Full reports whether the next value pushed would replace another.
func (t *Top[T]) Full() bool { return t.Len() == t.limit }

// Bottom returns the worst value kept.
func (t *Top[T]) Bottom() T {
	if !t.heaped && !t.known {
		worst := 0
		for i := range t.all {
			if t.better(t.all[worst], t.all[i]) {
				worst = i
			}
		}
		t.all[0], t.all[worst] = t.all[worst], t.all[0]
		t.known = true
	}
	return t.all[0]
}

// Unsorted returns the values kept, in the order of the heap.
func (t *Top[T]) Unsorted() []T { return t.all[:t.Len()] }

// Push adds a value.
func (t *Top[T]) Push(v T) {
	if !t.heaped {
		t.all = append(t.all, v)
		if len(t.all) == t.limit+1 {
			t.heapify()
			return
		}
		if last := len(t.all) - 1; t.known && !t.better(v, t.all[0]) {
			t.all[0], t.all[last] = t.all[last], t.all[0]
		}
		return
	}
	if t.better(v, t.all[0]) {
		t.all[t.limit] = v
		t.up(t.all, t.limit, 0, v)
		t.pop(t.all)
	}
}

// heapify makes a heap of all, and removes the worst.
func (t *Top[T]) heapify() {
	for i := (len(t.all) - 2) / 2; i >= 0; i-- {
		t.down(t.all, i, t.all[i])
	}
	t.pop(t.all)
	t.heaped = true
}

// pop moves the root of a heap after the rest, which is a heap again.
func (t *Top[T]) pop(h []T) {
	last := len(h) - 1
	v := h[last]
	h[last] = h[0]
	if last > 0 {
		t.down(h[:last], 0, v)
	}
}

// up moves v from a hole towards the root.
func (t *Top[T]) up(h []T, hole, top int, v T) {
	for hole > top && t.better(h[(hole-1)/2], v) {
		h[hole] = h[(hole-1)/2]
		hole = (hole - 1) / 2
	}
	h[hole] = v
}

// down moves a hole down to a leaf, and v up from there.
func (t *Top[T]) down(h []T, hole int, v T) {
	top, child := hole, hole
	for child < (len(h)-1)/2 {
		child = 2 * (child + 1)
		if t.better(h[child], h[child-1]) {
			child--
		}
		h[hole] = h[child]
		hole = child
	}
	if len(h)%2 == 0 && child == (len(h)-2)/2 {
		child = 2*child + 1
		h[hole] = h[child]
		hole = child
	}
	t.up(h, hole, top, v)
}

// Extract returns the values kept, the best first, and empties t.
func (t *Top[T]) Extract() []T {
	out := t.all
	if t.heaped {
		out = out[:t.limit]
		for n := len(out); n > 1; n-- {
			t.pop(out[:n])
		}
	} else {
		slices.SortStableFunc(out, func(a, b T) int {
			switch {
			case t.better(a, b):
				return -1
			case t.better(b, a):
				return 1
			}
			return 0
		})
	}
	t.all, t.heaped, t.known = nil, false, false
	return out
}
