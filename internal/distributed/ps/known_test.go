package ps

import (
	"slices"
	"testing"
)

// The ids of pulled rows are not sorted again; others are.
func TestKnownIDs(t *testing.T) {
	var k knownIDs
	lists := [][]int64{{5, 1, 5}, {2, 9}, {7, 7}, {4, 3}}
	var kept []*distinct
	for _, ids := range lists {
		kept = append(kept, newDistinct(ids))
		k.record("table", kept[len(kept)-1])
	}
	for i, ids := range lists {
		d := k.distinct("table", slices.Clone(ids))
		if known := d == kept[i]; known != (i >= len(lists)-knownLists) {
			t.Errorf("list %d: known %v", i, known)
		}
		if !slices.Equal(d.unique, kept[i].unique) {
			t.Errorf("list %d: expected %v, got %v", i, kept[i].unique, d.unique)
		}
	}
	if d := k.distinct("other", lists[3]); d == kept[3] {
		t.Error("ids of one variable are known as another's")
	}
}
