package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
)

// hostNorm has the results of batch normalization by its definition, in double precision.
type hostNorm struct{ y, mean, variance, dx, dgamma, dbeta []float64 }

func normOf(x, gamma, beta, dy []float32, rows, cols int, eps float64, training bool, mean, variance []float32) hostNorm {
	x64, d64 := wide(x), wide(dy)
	h := hostNorm{y: make([]float64, len(x)), mean: wide(mean), variance: wide(variance), dx: make([]float64, len(x)), dgamma: make([]float64, cols), dbeta: make([]float64, cols)}
	if training {
		h.mean, h.variance = make([]float64, cols), make([]float64, cols)
		host.Reduce(host.ReduceMean, h.mean, x64, 1, rows, cols)
		host.ColSumCentered(h.variance, x64, h.mean, rows, cols)
		host.BinaryScalar(host.Div, h.variance, h.variance, float64(rows))
	}
	host.ColSum(h.dbeta, d64, rows, cols)
	for c := range cols {
		inv := 1 / math.Sqrt(h.variance[c]+eps)
		dot := 0.0
		for r := range rows {
			hat := (x64[r*cols+c] - h.mean[c]) * inv
			h.y[r*cols+c] = hat*float64(gamma[c]) + float64(beta[c])
			dot += d64[r*cols+c] * hat
		}
		h.dgamma[c] = dot
		for r := range rows {
			i := r*cols + c
			v := d64[i]
			if training {
				v -= h.dbeta[c]/float64(rows) + (x64[i]-h.mean[c])*inv*dot/float64(rows)
			}
			h.dx[i] = float64(gamma[c]) * inv * v
		}
	}
	return h
}

func TestNorm(t *testing.T) {
	r := newRig(t, "norm", reduceModule())
	const eps = 1e-3
	for _, size := range [][2]int{{1, 3}, {50, 7}, {3000, 5}, {40, 70}, {40, 72}} {
		for _, training := range []bool{true, false} {
			rows, cols := size[0], size[1]
			name := fmt.Sprint(size, training)
			x, gamma, beta, dy := numbers(1, rows*cols), numbers(2, cols), numbers(3, cols), numbers(4, rows*cols)
			mean, variance := numbers(5, cols), make([]float32, cols)
			for i := range variance {
				variance[i] = 0.5 + float32(i)/8
			}
			want := normOf(x, gamma, beta, dy, rows, cols, eps, training, mean, variance)
			n := kernels.Norm{Y: r.alloc(4 * len(x)), X: up(r, x), Gamma: up(r, gamma), Beta: up(r, beta), Mean: up(r, mean), Variance: up(r, variance),
				Rows: rows, Cols: cols, Epsilon: eps, MeanOld: up(r, mean), VarianceOld: up(r, variance), MeanNew: r.alloc(4 * cols), VarianceNew: r.alloc(4 * cols), Factor: 0.25}
			n.Scratch = r.alloc(n.ScratchBytes())
			if training {
				r.run(n.Train()...)
				checkMoving(t, r, n, want, mean, variance)
			} else {
				r.run(n.Infer()...)
			}
			near(t, name+" y", narrow(want.y), down[float32](r, n.Y, len(x)), 1e-4)

			g := kernels.NormGrad{DX: r.alloc(4 * len(x)), DGamma: r.alloc(4 * cols), DBeta: r.alloc(4 * cols), DY: up(r, dy), X: n.X,
				Gamma: n.Gamma, Mean: n.Mean, Variance: n.Variance, Rows: rows, Cols: cols, Epsilon: eps, Training: training}
			g.Scratch = r.alloc(g.ScratchBytes())
			r.run(g.Calls()...)
			near(t, name+" dx", narrow(want.dx), down[float32](r, g.DX, len(x)), 1e-4)
			near(t, name+" dgamma", narrow(want.dgamma), down[float32](r, g.DGamma, cols), 1e-3)
			near(t, name+" dbeta", narrow(want.dbeta), down[float32](r, g.DBeta, cols), 1e-3)
		}
	}
	testSideInput(t, r)
}

// TestHalfNorm checks that bfloat16 activations are normalized as in float32.
func TestHalfNorm(t *testing.T) {
	r := newRig(t, "norm", reduceModule())
	const rows = 300
	for _, cols := range []int{5, 16} {
		x, dy, one, zero := numbers(1, rows*cols), numbers(2, rows*cols), make([]float32, cols), make([]float32, cols)
		for i := range one {
			one[i] = 1
		}
		px, pdy := bfloat16s(x), bfloat16s(dy)
		want := normOf(x, one, zero, dy, rows, cols, 1e-3, true, zero, zero)
		n := kernels.Norm{Y: r.alloc(2 * len(x)), X: up(r, px), Gamma: up(r, one), Beta: up(r, zero), Mean: r.alloc(4 * cols), Variance: r.alloc(4 * cols),
			Rows: rows, Cols: cols, Epsilon: 1e-3, MeanNew: r.alloc(4 * cols), VarianceNew: r.alloc(4 * cols), Factor: 1, Half: true}
		n.Scratch = r.alloc(n.ScratchBytes())
		r.run(n.Train()...)
		near(t, "y", narrow(want.y), r.get(n.Y, len(x), true), 1e-2)
		near(t, "mean", narrow(want.mean), down[float32](r, n.Mean, cols), 1e-5)
		g := kernels.NormGrad{DX: r.alloc(2 * len(x)), DGamma: r.alloc(4 * cols), DBeta: r.alloc(4 * cols), DY: up(r, pdy), X: n.X,
			Gamma: n.Gamma, Mean: n.Mean, Variance: n.Variance, Rows: rows, Cols: cols, Epsilon: 1e-3, Training: true, Half: true}
		g.Scratch = r.alloc(g.ScratchBytes())
		r.run(g.Calls()...)
		near(t, "dx", narrow(want.dx), r.get(g.DX, len(x), true), 1e-2)
		near(t, "dgamma", narrow(want.dgamma), down[float32](r, g.DGamma, cols), 1e-3)
	}
}

func checkMoving(t *testing.T, r *rig, n kernels.Norm, want hostNorm, meanOld, varianceOld []float32) {
	bessel := float64(n.Rows) / max(float64(n.Rows-1), 1)
	mean, variance := make([]float32, n.Cols), make([]float32, n.Cols)
	for c := range mean {
		mean[c] = float32(0.75*float64(meanOld[c]) + 0.25*want.mean[c])
		variance[c] = float32(0.75*float64(varianceOld[c]) + 0.25*want.variance[c]*bessel)
	}
	near(t, "moving mean", mean, down[float32](r, n.MeanNew, n.Cols), 1e-5)
	near(t, "moving variance", variance, down[float32](r, n.VarianceNew, n.Cols), 1e-5)
}

// testSideInput checks the addition and ReLU after the normalization.
func testSideInput(t *testing.T, r *rig) {
	x, add, one, zero := []float32{1, -2, 3, -4}, []float32{1, 1, -9, 5}, []float32{1, 1}, []float32{0, 0}
	n := kernels.Norm{Y: r.alloc(16), X: up(r, x), Gamma: up(r, one), Beta: up(r, zero), Mean: up(r, zero), Variance: up(r, one), Add: up(r, add), Rows: 2, Cols: 2, Relu: true}
	n.Scratch = r.alloc(n.ScratchBytes())
	r.run(n.Infer()...)
	near(t, "side input", []float32{2, 0, 0, 1}, down[float32](r, n.Y, 4), 1e-6)
}
