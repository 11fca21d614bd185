package kernels_test

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
)

var softmaxSizes = [][2]int{{1, 1}, {7, 10}, {20, 33}, {3, 1500}}

func TestSoftmax(t *testing.T) {
	r := newRig(t, "softmax")
	for _, size := range softmaxSizes {
		rows, cols := size[0], size[1]
		x := numbers(uint64(cols), rows*cols)
		want := make([]float32, len(x))
		px, y := up(r, x), r.alloc(4*len(x))
		host.Softmax(want, x, rows, cols)
		r.run(kernels.Softmax(y, px, rows, cols, false))
		near(t, "softmax", want, down[float32](r, y, len(x)), 1e-6)
		host.LogSoftmax(want, x, rows, cols)
		r.run(kernels.Softmax(y, px, rows, cols, true))
		near(t, "log softmax", want, down[float32](r, y, len(x)), 1e-5)
		testXent(t, r, x, rows, cols)
	}
	testXentInPlace(t, r)
}

func testXent(t *testing.T, r *rig, x []float32, rows, cols int) {
	labels, labels64, dense := make([]int32, rows), make([]int64, rows), make([]float32, len(x))
	for i := range labels {
		labels[i] = int32((i*7 + 3) % cols)
		labels64[i] = int64(labels[i])
	}
	host.Softmax(dense, numbers(99, len(x)), rows, cols)
	loss, back := make([]float32, rows), make([]float32, len(x))
	if err := host.SparseSoftmaxXent(loss, back, x, labels, rows, cols); err != nil {
		t.Fatal(err)
	}
	fault := up(r, make([]int64, kernels.FaultBytes/8))
	e := kernels.Xent{Loss: r.alloc(4 * rows), Backprop: r.alloc(4 * len(x)), Logits: up(r, x), Fault: kernels.Fault{Record: fault, Operation: 6}, Rows: rows, Cols: cols}
	for _, wide := range []bool{false, true} {
		e.Int64 = wide
		if e.Labels = up(r, labels); wide {
			e.Labels = up(r, labels64)
		}
		r.run(e.Sparse())
		near(t, "sparse loss", loss, down[float32](r, e.Loss, rows), 1e-5)
		near(t, "sparse gradient", back, down[float32](r, e.Backprop, len(x)), 1e-6)
	}
	host.SoftmaxXent(loss, back, x, dense, rows, cols)
	e.Labels = up(r, dense)
	r.run(e.Dense())
	near(t, "loss", loss, down[float32](r, e.Loss, rows), 1e-5)
	near(t, "gradient", back, down[float32](r, e.Backprop, len(x)), 1e-6)

	if f := down[int64](r, fault, 1)[0]; f != 0 {
		t.Errorf("good labels: got fault %d", f)
	}
	labels[rows-1] = int32(cols)
	e.Labels, e.Int64, e.Backprop = up(r, labels), false, 0
	r.run(e.Sparse())
	got := down[float32](r, e.Loss, rows)
	if f := down[int64](r, fault, 4); !slices.Equal(f, []int64{7, int64(cols), int64(rows) - 1, int64(cols)}) || got[rows-1] == got[rows-1] {
		t.Errorf("bad label in row %d: got fault %v, loss %g", rows-1, f, got[rows-1])
	}
}

// testXentInPlace checks that the gradient may overwrite the logits.
func testXentInPlace(t *testing.T, r *rig) {
	const rows, cols = 4, 6
	x, labels := numbers(5, rows*cols), []int32{0, 5, 2, 2}
	loss, back := make([]float32, rows), make([]float32, len(x))
	if err := host.SparseSoftmaxXent(loss, back, x, labels, rows, cols); err != nil {
		t.Fatal(err)
	}
	p := up(r, x)
	e := kernels.Xent{Loss: r.alloc(4 * rows), Backprop: p, Logits: p, Labels: up(r, labels), Fault: kernels.Fault{Record: up(r, make([]int64, kernels.FaultBytes/8))}, Rows: rows, Cols: cols}
	r.run(e.Sparse())
	near(t, "loss", loss, down[float32](r, e.Loss, rows), 1e-5)
	near(t, "gradient", back, down[float32](r, p, len(x)), 1e-6)
}
