package ps

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int64{1, 5, 1000, 1 << 22, 1 << 40, 1 << 62}).Draw(t, "most")
		ids := rapid.SliceOfN(rapid.Int64Range(0, most), 0, 600).Draw(t, "ids")
		d := newDistinct(ids)
		want := slices.Clone(ids)
		slices.Sort(want)
		if want = slices.Compact(want); !slices.Equal(d.unique, want) {
			t.Fatalf("%v: expected %v, got %v", ids, want, d.unique)
		}
		if (d.order == nil) != increasing(ids) {
			t.Fatalf("%v: order %v", ids, d.order)
		}
		// Each id's row is the id, so that its places and its sum are known.
		rows, places := make([]float64, len(d.unique)), make([]float64, len(ids))
		for i := range rows {
			rows[i] = float64(i + 1)
		}
		mid := len(rows) / 3
		d.spread(raw(places), raw(rows[:mid]), 0, 8)
		d.spread(raw(places), raw(rows[mid:]), mid, 8)
		sums, counts := make([]float64, len(rows)), make([]float64, len(rows))
		for i, id := range ids {
			k, _ := slices.BinarySearch(d.unique, id)
			if places[i] != float64(k+1) {
				t.Fatalf("%v: row %v at %d", ids, places[i], i)
			}
			counts[k] += float64(k + 1)
		}
		sumRows(d, sums[:mid], places, 0, mid, 1)
		sumRows(d, sums[mid:], places, mid, len(rows), 1)
		if diff := cmp.Diff(counts, sums); diff != "" {
			t.Fatal(diff)
		}
	})
}

// raw returns elements as bytes.
func raw(x []float64) []byte {
	t, err := tensor.FromSlice(x, len(x))
	if err != nil {
		panic(err)
	}
	return t.Bytes
}
