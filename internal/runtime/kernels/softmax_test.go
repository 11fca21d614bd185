package kernels

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// softmaxReference returns softmax and log-softmax of one row.
func softmaxReference[T Float](x []T) (p, logp []float64) {
	top := math.Inf(-1)
	for _, v := range x {
		top = math.Max(top, float64(v))
	}
	var sum float64
	for _, v := range x {
		sum += math.Exp(float64(v) - top)
	}
	for _, v := range x {
		l := float64(v) - top - math.Log(sum)
		logp = append(logp, l)
		p = append(p, math.Exp(l))
	}
	return p, logp
}

func testSoftmax[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(0, 20).Draw(t, "rows"), rapid.IntRange(1, 100).Draw(t, "cols")
		r := newRand(rapid.Uint64().Draw(t, "seed"))
		x := vector[T](r, rows*cols)
		target := positive[T](r, rows*cols)
		scale := rapid.SampledFrom([]T{1, 20, 1000}).Draw(t, "scale")
		labels := make([]int32, rows)
		var p, logp, loss, dense, grad, denseGrad []float64
		for i := range x {
			x[i] *= scale
		}
		for i := range rows {
			from, to := i*cols, (i+1)*cols
			labels[i] = int32(r.IntN(cols))
			pr, lr := softmaxReference(x[from:to])
			p, logp = append(p, pr...), append(logp, lr...)
			loss = append(loss, -lr[labels[i]])
			var d float64
			for c := range cols {
				d -= float64(target[from+c]) * lr[c]
			}
			dense = append(dense, d)
			for c := range cols {
				onehot := 0.0
				if c == int(labels[i]) {
					onehot = 1
				}
				grad = append(grad, pr[c]-onehot)
				denseGrad = append(denseGrad, pr[c]-float64(target[from+c]))
			}
		}
		got, gotLoss := make([]T, rows*cols), make([]T, rows)
		tol := tolerance[T](cols) * 4
		Softmax(got, x, rows, cols)
		requireClose(t, "softmax", got, p, tol, 1e-6)
		LogSoftmax(got, x, rows, cols)
		requireClose(t, "log softmax", got, logp, tol, float64(scale))
		if err := SparseSoftmaxXent(gotLoss, got, x, labels, rows, cols); err != nil {
			t.Fatal(err)
		}
		requireClose(t, "sparse loss", gotLoss, loss, tol, float64(scale))
		requireClose(t, "sparse gradient", got, grad, tol, 1)
		if err := SparseSoftmaxXent(gotLoss, nil, x, labels, rows, cols); err != nil {
			t.Fatal(err)
		}
		requireClose(t, "sparse loss alone", gotLoss, loss, tol, float64(scale))
		SoftmaxXent(gotLoss, got, x, target, rows, cols)
		requireClose(t, "loss", gotLoss, dense, tol, float64(scale)*float64(cols))
		requireClose(t, "gradient", got, denseGrad, tol, 1)
	})
}

func TestSoftmax(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testSoftmax[float32])
		t.Run("float64", testSoftmax[float64])
	})
}

func TestSparseSoftmaxXentRefusesLabels(t *testing.T) {
	for _, bad := range []int64{-1, 3, 1 << 40} {
		loss := []float32{7, 7}
		err := SparseSoftmaxXent(loss, nil, make([]float32, 6), []int64{0, bad}, 2, 3)
		var e *LabelError
		if !errors.As(err, &e) || e.Row != 1 || e.Label != bad || e.Classes != 3 {
			t.Errorf("label %d: got error %v", bad, err)
		}
		if loss[0] != 7 {
			t.Errorf("label %d: loss was written", bad)
		}
	}
}

func TestSoftmaxDoesNotAllocate(t *testing.T) {
	const rows, cols = 512, 10
	x, loss, labels := vector[float32](newRand(1), rows*cols), make([]float32, rows), make([]int32, rows)
	wide := make([]int64, rows)
	requireNoAllocs(t, "Softmax", func() { Softmax(x, x, rows, cols) })
	requireNoAllocs(t, "LogSoftmax", func() { LogSoftmax(x, x, rows, cols) })
	requireNoAllocs(t, "SparseSoftmaxXent", func() { _ = SparseSoftmaxXent(loss, x, x, labels, rows, cols) })
	requireNoAllocs(t, "SparseSoftmaxXent, int64", func() { _ = SparseSoftmaxXent(loss, nil, x, wide, rows, cols) })
	requireNoAllocs(t, "SoftmaxXent", func() { SoftmaxXent(loss, x, x, x, rows, cols) })
}

func BenchmarkSoftmaxXent(b *testing.B) {
	for _, s := range [][2]int{{128, 10}, {1024, 1000}} {
		x, y := vector[float32](newRand(1), s[0]*s[1]), make([]float32, s[0]*s[1])
		loss, labels := make([]float32, s[0]), make([]int32, s[0])
		b.Run(map[int]string{10: "128x10", 1000: "1024x1000"}[s[1]], func(b *testing.B) {
			for b.Loop() {
				_ = SparseSoftmaxXent(loss, y, x, labels, s[0], s[1])
			}
		})
	}
}
