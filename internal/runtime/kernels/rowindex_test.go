package kernels

import (
	"testing"

	"pgregory.net/rapid"
)

func testScatterRows[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 20).Draw(t, "rows"), rapid.IntRange(0, 40).Draw(t, "cols")
		ids := rapid.SliceOfN(rapid.Int32Range(0, int32(rows-1)), 0, 50).Draw(t, "ids")
		table, src := vector[T](newRand(1), rows*cols), vector[T](newRand(2), len(ids)*cols)
		before, sums := append([]T(nil), table...), append([]T(nil), table...)
		for i, id := range ids {
			for c := range cols {
				sums[int(id)*cols+c] += src[i*cols+c]
			}
		}
		ScatterRows(Add, table, src, ids, cols)
		requireClose(t, "added", table, widen(sums), 0, 0)
		wide := make([]int64, len(ids))
		for i, id := range ids {
			wide[i] = int64(id)
			for c := range cols {
				sums[int(id)*cols+c] -= src[i*cols+c]
			}
		}
		ScatterRows(Sub, table, src, wide, cols)
		requireClose(t, "subtracted", table, widen(sums), 0, 0)
		requireClose(t, "there and back", table, widen(before), tolerance[T](50), 1)
	})
}

func TestScatterRows(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testScatterRows[float32])
		t.Run("float64", testScatterRows[float64])
	})
}
