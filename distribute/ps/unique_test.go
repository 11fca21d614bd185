package ps

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int64{1, 5, 1000, 1 << 40}).Draw(t, "most")
		ids := rapid.SliceOfN(rapid.Int64Range(0, most), 0, 600).Draw(t, "ids")
		unique, index := Unique(ids)
		if index == nil {
			if !slices.Equal(unique, ids) || !increasing(ids) {
				t.Fatalf("%v is not increasing", ids)
			}
			return
		}
		if !increasing(unique) || len(index) != len(ids) {
			t.Fatalf("%v of %v", unique, ids)
		}
		used := make([]bool, len(unique))
		for i, k := range index {
			if unique[k] != ids[i] {
				t.Fatalf("id %d at %d is %d", ids[i], i, unique[k])
			}
			used[k] = true
		}
		if slices.Contains(used, false) {
			t.Fatalf("%v has more than %v", unique, ids)
		}
	})
}
