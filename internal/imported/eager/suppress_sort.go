package eager

import (
	"cmp"
	"math/bits"
	"slices"
)

// sortDetections sorts by score, the highest first. Equal scores have the order of the C++ standard library's sort: quicksort down to
// runs of 16, then insertion sort.
func sortDetections(all []detection) {
	quickDetections(all, 2*(bits.Len(uint(len(all)))-1))
	for i := 1; i < len(all); i++ {
		v, j := all[i], i
		for ; j > 0 && v.score > all[j-1].score; j-- {
			all[j] = all[j-1]
		}
		all[j] = v
	}
}

func quickDetections(all []detection, depth int) {
	for ; len(all) > 16 && depth > 0; depth-- {
		medianFirst(all)
		cut := partition(all)
		quickDetections(all[cut:], depth-1)
		all = all[:cut]
	}
	if len(all) > 16 { // the maximum depth
		slices.SortFunc(all, func(a, b detection) int { return cmp.Compare(b.score, a.score) })
	}
}

// medianFirst moves the median of the second, middle and last element to the front.
func medianFirst(all []detection) {
	less := func(i, j int) bool { return all[i].score > all[j].score }
	a, b, c := 1, len(all)/2, len(all)-1
	m := b
	switch {
	case less(a, b) && less(b, c):
	case less(a, b) && less(a, c):
		m = c
	case less(a, b):
		m = a
	case less(a, c):
		m = a
	case less(b, c):
		m = c
	}
	all[0], all[m] = all[m], all[0]
}

// partition partitions by the first element, and returns the index at which the lower scores begin.
func partition(all []detection) int {
	pivot, i, j := all[0].score, 1, len(all)
	for {
		for all[i].score > pivot {
			i++
		}
		for j--; pivot > all[j].score; j-- {
		}
		if i >= j {
			return i
		}
		all[i], all[j] = all[j], all[i]
		i++
	}
}
