package kernels

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestSumsOfRows compares every way to add rows with a loop over elements.
func TestSumsOfRows(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cols, n := rapid.IntRange(1, 40).Draw(r, "cols"), rapid.IntRange(0, 150).Draw(r, "ids")
		table := make([]float32, 9*cols)
		for i := range table {
			table[i] = float32(i%13)/4 - 1
		}
		ids, w := make([]int64, n), []float32(nil)
		for i := range ids {
			ids[i] = rapid.Int64Range(-2, 8).Draw(r, "id")
		}
		if rapid.Bool().Draw(r, "weighted") {
			w = make([]float32, n)
			for i := range w {
				w[i] = float32(i%5) / 2
			}
		}
		rows := make([]float32, n*cols)
		want := make([]float64, cols)
		for p, id := range ids {
			if id < 0 {
				continue
			}
			copy(rows[p*cols:(p+1)*cols], table[int(id)*cols:])
			for c := range cols {
				k := 1.0
				if w != nil {
					k = float64(w[p])
				}
				want[c] += k * float64(table[int(id)*cols+c])
			}
		}
		gathered, summed := make([]float32, cols), make([]float32, cols)
		if at := GatherSum(gathered, table, ids, w); at != -1 {
			r.Fatalf("place %d is not there", at)
		}
		SumRows(summed, rows, ids, w)
		for c := range want {
			for _, got := range []float32{gathered[c], summed[c]} {
				if math.Abs(float64(got)-want[c]) > 1e-3 {
					r.Fatalf("column %d: %v, expected %v", c, got, want[c])
				}
			}
		}
		if n > 0 {
			at := rapid.IntRange(0, n-1).Draw(r, "wrong")
			ids[at] = 9
			if got := GatherSum(gathered, table, ids, w); got != at {
				r.Fatalf("id %d is wrong, got %d", at, got)
			}
		}
	})
}

// TestGatherRowsAsSums: rows gathered at once equal, bit for bit, rows added to zeros one by one.
func TestGatherRowsAsSums(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cols, n := rapid.IntRange(1, 20).Draw(r, "cols"), rapid.IntRange(0, 60).Draw(r, "ids")
		table := make([]float32, 9*cols)
		for i := range table {
			table[i] = float32(i%5-2) * 0.3
			if i%7 == 0 {
				table[i] = float32(math.Copysign(0, -1))
			}
		}
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = rapid.Int32Range(-2, 8).Draw(r, "id")
		}
		got, want := make([]float32, n*cols), make([]float32, n*cols)
		for i := range got {
			got[i] = 5
		}
		if at := GatherRows(got, table, ids); at != -1 {
			r.Fatalf("place %d is not there", at)
		}
		for p := range ids {
			GatherSum(want[p*cols:(p+1)*cols], table, ids[p:p+1], nil)
		}
		for i := range want {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				r.Fatalf("element %d: got %v, want %v", i, got[i], want[i])
			}
		}
		if n > 0 {
			at := rapid.IntRange(0, n-1).Draw(r, "wrong")
			ids[at] = 9
			if got := GatherRows(got, table, ids); got != at {
				r.Fatalf("id %d is wrong, got %d", at, got)
			}
		}
	})
}
