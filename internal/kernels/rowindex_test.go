package kernels

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func testRowIndex[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 20).Draw(t, "rows"), rapid.IntRange(0, 40).Draw(t, "cols")
		ids := rapid.SliceOfN(rapid.Int32Range(0, int32(rows-1)), 0, 50).Draw(t, "ids")
		table := vector[T](newRand(1), rows*cols)
		got, want := make([]T, len(ids)*cols), make([]float64, len(ids)*cols)
		sums := widen(table)
		for i, id := range ids {
			for c := range cols {
				want[i*cols+c] = float64(table[int(id)*cols+c])
				sums[int(id)*cols+c] += want[i*cols+c]
			}
		}
		if err := GatherRows(got, table, ids, rows, cols); err != nil {
			t.Fatal(err)
		}
		requireClose(t, "gathered", got, want, 0, 0)
		if err := ScatterAddRows(table, got, ids, rows, cols); err != nil {
			t.Fatal(err)
		}
		requireClose(t, "added", table, sums, tolerance[T](50), 1)
	})
}

func TestRowIndex(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testRowIndex[float32])
		t.Run("float64", testRowIndex[float64])
	})
}

func TestRowIndexRefusesIDs(t *testing.T) {
	for _, bad := range []int64{-1, 3, 1 << 40} {
		var e *RowError
		err := GatherRows(make([]float32, 4), make([]float32, 6), []int64{2, bad}, 3, 2)
		if !errors.As(err, &e) || e.At != 1 || e.ID != bad || e.Rows != 3 {
			t.Errorf("gather, id %d: got error %v", bad, err)
		}
		if err := ScatterAddRows(make([]float32, 6), make([]float32, 4), []int64{2, bad}, 3, 2); !errors.As(err, &e) {
			t.Errorf("scatter, id %d: got error %v", bad, err)
		}
	}
}
