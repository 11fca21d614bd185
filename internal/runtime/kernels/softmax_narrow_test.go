package kernels

import (
	"math"
	"slices"
	"testing"
)

// named replaces each NaN, whose bits mean nothing, by a number.
func named[T Float](x []T) []T {
	y := slices.Clone(x)
	for i, v := range y {
		if v != v {
			y[i] = 99
		}
	}
	return y
}

// testNarrow checks that a row gives the same bits alone and among other rows, whatever these contain.
func testNarrow[T Float](t *testing.T) {
	for _, s := range [][2]int{{1, 1}, {7, 10}, {8, 3}, {15, 10}, {129, 2}, {300, 10}, {131, narrowRow}, {9, narrowRow + 1}} {
		rows, cols := s[0], s[1]
		r := newRand(uint64(rows))
		x, labels := vector[T](r, rows*cols), make([]int64, rows)
		x[r.IntN(len(x))] = T(math.NaN())
		for i := range labels {
			labels[i] = int64(r.IntN(cols))
		}
		p, grad, loss := make([]T, rows*cols), make([]T, rows*cols), make([]T, rows)
		Softmax(p, x, rows, cols)
		if err := SparseSoftmaxXent(loss, grad, x, labels, rows, cols); err != nil {
			t.Fatal(err)
		}
		bare := make([]T, rows)
		if err := SparseSoftmaxXent(bare, nil, x, labels, rows, cols); err != nil {
			t.Fatal(err)
		}
		requireBits(t, "loss without gradient", named(bare), named(loss))
		one, oneLoss := make([]T, cols), make([]T, 1)
		for i := range rows {
			from, to := i*cols, (i+1)*cols
			Softmax(one, x[from:to], 1, cols)
			requireBits(t, "softmax", named(one), named(p[from:to]))
			if err := SparseSoftmaxXent(oneLoss, one, x[from:to], labels[i:], 1, cols); err != nil {
				t.Fatal(err)
			}
			requireBits(t, "gradient", named(one), named(grad[from:to]))
			requireBits(t, "loss", named(oneLoss), named(loss[i:i+1]))
		}
	}
}

func TestNarrowSoftmax(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testNarrow[float32])
		t.Run("float64", testNarrow[float64])
	})
}
