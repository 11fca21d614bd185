package kernels

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func testReduce[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		outer, n, inner := rapid.IntRange(0, 6).Draw(t, "outer"), rapid.IntRange(1, 70).Draw(t, "n"), rapid.IntRange(1, 40).Draw(t, "inner")
		op := ReduceOp(rapid.IntRange(0, int(ReduceSumSquares)).Draw(t, "op"))
		x := vector[T](newRand(rapid.Uint64().Draw(t, "seed")), outer*n*inner)
		want := make([]float64, outer*inner)
		for o := range outer {
			for i := range inner {
				acc := reduceStart[float64](op)
				for k := range n {
					acc = reducePair(op, acc, float64(x[(o*n+k)*inner+i]))
				}
				if op == ReduceMean {
					acc /= float64(n)
				}
				want[o*inner+i] = acc
			}
		}
		got := make([]T, outer*inner)
		Reduce(op, got, x, outer, n, inner)
		requireClose(t, fmt.Sprint("op ", op), got, want, tolerance[T](n), 1)
	})
}

func TestReduce(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testReduce[float32])
		t.Run("float64", testReduce[float64])
	})
}

func testTotals[T Float](t *testing.T) {
	for _, n := range []int{0, 1, 3, 8, 17, 100, reduceBlock, reduceBlock + 1, 5*reduceBlock + 77} {
		a := vector[T](newRand(1), n)
		var sum, squares float64
		for i := range a {
			sum += float64(a[i])
			squares += float64(a[i]) * float64(a[i])
		}
		got := []T{Sum(a), SumSquares(a)}
		requireClose(t, fmt.Sprint("n=", n), got, []float64{sum, squares}, tolerance[T](n), math.Sqrt(float64(n)))
	}
}

func TestTotals(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testTotals[float32])
		t.Run("float64", testTotals[float64])
	})
}

func testMaxOf[T Float](t *testing.T) {
	for n := range 70 {
		x := vector[T](newRand(uint64(n)), n)
		for i := range x {
			x[i] -= 5
		}
		want := math.Inf(-1)
		for _, v := range x {
			want = max(want, float64(v))
		}
		if got := maxRange(x); float64(got) != want {
			t.Fatalf("n=%d: got %v, want %v", n, got, want)
		}
		for i := range x {
			old := x[i]
			x[i] = T(math.NaN())
			if got := maxRange(x); got == got {
				t.Fatalf("n=%d, NaN at %d: got %v", n, i, got)
			}
			x[i] = T(math.Inf(1))
			if got := maxRange(x); !math.IsInf(float64(got), 1) {
				t.Fatalf("n=%d, +Inf at %d: got %v", n, i, got)
			}
			x[i] = old
		}
	}
}

func TestMaxOf(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testMaxOf[float32])
		t.Run("float64", testMaxOf[float64])
	})
}

func testColumns[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(0, 300).Draw(t, "rows"), rapid.IntRange(0, 150).Draw(t, "cols")
		r := newRand(rapid.Uint64().Draw(t, "seed"))
		x, dy, mean := vector[T](r, rows*cols), vector[T](r, rows*cols), vector[T](r, cols)
		sum, centered, product := make([]float64, cols), make([]float64, cols), make([]float64, cols)
		for i := range rows * cols {
			c := i % cols
			d := float64(x[i]) - float64(mean[c])
			sum[c] += float64(x[i])
			centered[c] += d * d
			product[c] += float64(dy[i]) * d
		}
		got := make([]T, cols)
		scale := math.Sqrt(float64(rows + 1))
		ColSum(got, x, rows, cols)
		requireClose(t, "sum", got, sum, tolerance[T](rows), scale)
		ColSumCentered(got, x, mean, rows, cols)
		requireClose(t, "centered", got, centered, tolerance[T](rows), scale)
		ColDotCentered(got, dy, x, mean, rows, cols)
		requireClose(t, "product", got, product, tolerance[T](rows), scale)
	})
}

func TestColumns(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testColumns[float32])
		t.Run("float64", testColumns[float64])
	})
}

func testRows[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(0, 60).Draw(t, "rows"), rapid.IntRange(1, 150).Draw(t, "cols")
		r := newRand(rapid.Uint64().Draw(t, "seed"))
		x, dy := vector[T](r, rows*cols), vector[T](r, rows*cols)
		scale, shift, third, perRow := vector[T](r, cols), vector[T](r, cols), vector[T](r, cols), vector[T](r, rows)
		relu := rapid.Bool().Draw(t, "relu")
		bias, mapped, grad, byRow, mul := make([]float64, rows*cols), make([]float64, rows*cols), make([]float64, rows*cols),
			make([]float64, rows*cols), make([]float64, rows*cols)
		for i, v := range x {
			c := i % cols
			bias[i] = float64(v) + float64(shift[c])
			mul[i] = float64(v) * float64(shift[c])
			byRow[i] = float64(v) - float64(perRow[i/cols])
			mapped[i] = float64(v)*float64(scale[c]) + float64(shift[c])
			if relu {
				mapped[i] = math.Max(mapped[i], 0)
			}
			grad[i] = float64(scale[c])*float64(dy[i]) + float64(shift[c])*float64(v) + float64(third[c])
		}
		got := make([]T, rows*cols)
		tol := tolerance[T](4)
		BroadcastRow(Add, got, x, shift, rows, cols)
		requireClose(t, "bias", got, bias, tol, 1)
		BroadcastRow(Mul, got, x, shift, rows, cols)
		requireClose(t, "row product", got, mul, tol, 1)
		BroadcastCol(Sub, got, x, perRow, rows, cols)
		requireClose(t, "by row", got, byRow, tol, 1)
		ScaleShift(got, x, scale, shift, relu)
		requireClose(t, "scale and shift", got, mapped, tol, 1)
		BatchNormGrad(got, dy, x, [3][]T{scale, shift, third})
		requireClose(t, "batch norm gradient", got, grad, tol, 1)
	})
}

func TestRows(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testRows[float32])
		t.Run("float64", testRows[float64])
	})
}

func TestVarianceFarFromZero(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		const rows, cols = 1000, 3
		x := make([]float32, rows*cols)
		for i := range x {
			x[i] = 1e4*float32(i%cols) + float32(i/cols%2) // far from zero: a one-pass variance would drown
		}
		mean, variance := make([]float32, cols), make([]float32, cols)
		ColSum(mean, x, rows, cols)
		BinaryScalar(Div, mean, mean, rows)
		ColSumCentered(variance, x, mean, rows, cols)
		BinaryScalar(Div, variance, variance, rows)
		requireClose(t, "mean", mean, []float64{0.5, 10000.5, 20000.5}, 5e-7, 0)
		requireClose(t, "variance", variance, []float64{0.25, 0.25, 0.25}, 1e-3, 0)
	})
}

func TestReduceLongRows(t *testing.T) {
	const n = longRow + 5
	x := vector[float64](newRand(1), 2*n)
	want := [][2]float64{{Sum(x[:n]), Sum(x[n:])}, {Sum(x[:n]) / n, Sum(x[n:]) / n}, {SumSquares(x[:n]), SumSquares(x[n:])}}
	for i, op := range []ReduceOp{ReduceSum, ReduceMean, ReduceSumSquares} {
		got := make([]float64, 2)
		Reduce(op, got, x, 2, n, 1)
		requireClose(t, fmt.Sprint("op ", op), got, want[i][:], 1e-13, 1)
	}
}

func TestReductionsDeterministic(t *testing.T) {
	withProcs(t, 4)
	defer SetThreads(0)
	const rows, cols = 3000, 37
	x := vector[float32](newRand(1), rows*cols)
	sum, columns := Sum(x), make([]float32, cols)
	ColSum(columns, x, rows, cols)
	for threads := 1; threads <= 4; threads++ {
		SetThreads(threads)
		got := make([]float32, cols)
		ColSum(got, x, rows, cols)
		requireBits(t, fmt.Sprint(threads, " threads"), got, columns)
		requireBits(t, "sum", []float32{Sum(x)}, []float32{sum})
	}
}

func TestReductionsDoNotAllocate(t *testing.T) {
	const rows, cols = 1000, 64
	x, acc := vector[float32](newRand(1), rows*cols), make([]float32, cols)
	requireNoAllocs(t, "Sum", func() { Sum(x) })
	requireNoAllocs(t, "SumSquares", func() { SumSquares(x) })
	requireNoAllocs(t, "ColSum", func() { ColSum(acc, x, rows, cols) })
	requireNoAllocs(t, "Reduce", func() { Reduce(ReduceMax, acc, x, 1, rows, cols) })
	requireNoAllocs(t, "ScaleShift", func() { ScaleShift(x, x, acc, acc, true) })
	requireNoAllocs(t, "BroadcastRow", func() { BroadcastRow(Add, x, x, acc, rows, cols) })
	requireNoAllocs(t, "BroadcastCol", func() { BroadcastCol(Mul, x, x, x, rows, cols) })
	requireNoAllocs(t, "BatchNormGrad", func() { BatchNormGrad(x, x, x, [3][]float32{acc, acc, acc}) })
}

func BenchmarkReduce(b *testing.B) {
	const rows, cols = 8192, 64
	x, acc := vector[float32](newRand(1), rows*cols), make([]float32, cols)
	b.SetBytes(4 * rows * cols)
	b.Run("sum", func(b *testing.B) {
		for b.Loop() {
			Sum(x)
		}
	})
	b.Run("columns", func(b *testing.B) {
		for b.Loop() {
			ColSum(acc, x, rows, cols)
		}
	})
	b.Run("scaleShift", func(b *testing.B) {
		for b.Loop() {
			ScaleShift(x, x, acc, acc, true)
		}
	})
	b.Run("columns128x10", func(b *testing.B) {
		for b.Loop() {
			ColSum(acc[:10], x[:1280], 128, 10)
		}
	})
}
