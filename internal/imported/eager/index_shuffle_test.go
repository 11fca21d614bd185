package eager

import (
	"strings"
	"testing"
)

// TestIndexShuffleBeyond: all indices up to the largest have distinct positions; the next one has a position or fails, but the search ends.
func TestIndexShuffleBeyond(t *testing.T) {
	c := call{ctx: t.Context()}
	key := [3]uint32{1, 2, 3}
	for _, most := range []uint64{0, 1, 3, 300} {
		seen := map[uint64]bool{}
		for i := range most + 1 {
			v, err := shuffled(c, i, key, most, 4)
			if err != nil || v > most || seen[v] {
				t.Fatalf("index %d of %d: %d, %v", i, most, v, err)
			}
			seen[v] = true
		}
	}
	refused := 0
	for i := range uint64(20) {
		v, err := shuffled(c, 1<<40+1000+i, key, 3, 4)
		if err != nil && strings.Contains(err.Error(), "above max_index, 3") {
			refused++
		} else if err != nil || v > 3 {
			t.Errorf("index beyond: %d, %v", v, err)
		}
	}
	if refused == 0 {
		t.Error("all indices beyond have places")
	}
}
