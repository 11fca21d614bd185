package topn

import "math/bits"

// shortRun is the largest number of values that libstdc++'s std::sort sorts by insertion.
const shortRun = 16

// Sort is libstdc++'s std::sort, move for move. better need not be a strict order: with NaN there is none.
func Sort[T any](a []T, better func(a, b T) bool) {
	if len(a) == 0 {
		return
	}
	s := sorter[T]{better}
	s.divide(a, 2*(bits.Len(uint(len(a)))-1))
	s.insert(a)
}

type sorter[T any] struct{ better func(a, b T) bool }

// divide partitions values around pivots until few are left on each side.
func (s sorter[T]) divide(a []T, depth int) {
	for len(a) > shortRun {
		if depth == 0 {
			s.heap(a)
			return
		}
		depth--
		s.medianFirst(a, 1, len(a)/2, len(a)-1)
		cut := s.partition(a)
		s.divide(a[cut:], depth)
		a = a[:cut]
	}
}

// medianFirst swaps the first value with the median of three others.
func (s sorter[T]) medianFirst(a []T, i, j, k int) {
	m := i
	if s.better(a[i], a[j]) {
		if s.better(a[j], a[k]) {
			m = j
		} else if s.better(a[i], a[k]) {
			m = k
		}
	} else if !s.better(a[i], a[k]) {
		if m = j; s.better(a[j], a[k]) {
			m = k
		}
	}
	a[0], a[m] = a[m], a[0]
}

// partition divides all values but the first, the pivot, into two parts, and returns where the second part begins.
func (s sorter[T]) partition(a []T) int {
	first, last := 1, len(a)
	for {
		for first < len(a) && s.better(a[first], a[0]) {
			first++
		}
		last--
		for last > 0 && s.better(a[0], a[last]) {
			last--
		}
		if first >= last {
			return first
		}
		a[first], a[last] = a[last], a[first]
		first++
	}
}

// insert moves each value to its place among the values before it.
func (s sorter[T]) insert(a []T) {
	for i := 1; i < len(a); i++ {
		v, j := a[i], i
		if i < shortRun && s.better(v, a[0]) {
			copy(a[1:i+1], a[:i])
			a[0] = v
			continue
		}
		for ; j > 0 && s.better(v, a[j-1]); j-- {
			a[j] = a[j-1]
		}
		a[j] = v
	}
}

// heap is heapsort, used after too many divisions.
func (s sorter[T]) heap(a []T) {
	t := Top[T]{better: s.better}
	for i := (len(a) - 2) / 2; i >= 0; i-- {
		t.down(a, i, a[i])
	}
	for n := len(a); n > 1; n-- {
		t.pop(a[:n])
	}
}
