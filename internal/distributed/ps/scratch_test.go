package ps

import (
	"slices"
	"testing"
)

func TestScratchIsOfTheSizeAskedFor(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 7, 8, 9, 1000, 1024, 1025} {
		a := acquireScratch(n)
		if len(a) != n || cap(a) >= 2*max(n, 1) {
			t.Errorf("%d bytes: got %d, with room for %d", n, len(a), cap(a))
		}
		releaseScratch(a)
		if b := acquireScratch(n); len(b) != n {
			t.Errorf("%d bytes again: got %d", n, len(b))
		}
	}
}

// Memory in use is not given out again.
func TestScratchIsNotShared(t *testing.T) {
	var used [][]int32
	for i := range int32(100) {
		b := int32s(acquireScratch(4 * (1 + int(i)%7)))
		for k := range b {
			b[k] = i
		}
		if i%3 == 0 {
			releaseScratch(acquireScratch(16))
		}
		used = append(used, b)
	}
	for i, b := range used {
		if slices.Min(b) != int32(i) || slices.Max(b) != int32(i) {
			t.Errorf("memory %d holds %v", i, b)
		}
	}
}
