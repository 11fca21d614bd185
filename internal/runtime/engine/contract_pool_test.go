package engine

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

func poolCases() []*opCase {
	var all []*opCase
	for i := range windows {
		w := &windows[i]
		if w.dilation > 1 {
			continue // pooling has none
		}
		c := sh(w.in).Dims[3]
		x, y := feedOf(w.in), feedOf(w.out)
		y.typ.Shape.Dims = append(y.typ.Shape.Dims, c)
		a := w.attrs()
		a["ksize"] = []int64{1, int64(w.kh), int64(w.kw), 1}
		for _, edge := range []bool{false, true} {
			for _, d := range []tensor.DType{tensor.Float32, tensor.Float64} {
				all = append(all, w.maxPoolCases(a, x, y, d, edge)...)
			}
		}
		if w.padding == "EXPLICIT" {
			continue // TensorFlow's means have none
		}
		all = append(all,
			&opCase{op: "AvgPool", attrs: a, in: []operand{x}, out: []graph.Type{y.typ}, ref: func(in []nd, out [][]int) []nd {
				r, n := newND(out[0]), w.counts(in[0].shape, out[0])
				w.pairs(in[0].shape, out[0], func(x, y int) { r.data[y] += in[0].data[x] / n.data[y] })
				return []nd{r}
			}},
			&opCase{op: "AvgPoolGrad", attrs: a, in: []operand{ints(0, 0, 0, 0), y}, out: []graph.Type{x.typ}, ref: func(in []nd, out [][]int) []nd {
				r, n := newND(out[0]), w.counts(out[0], in[1].shape)
				w.pairs(out[0], in[1].shape, func(x, y int) { r.data[x] += in[1].data[y] / n.data[y] })
				return []nd{r}
			}})
	}
	return all
}

// lowestOf is the lowest finite number of a float type.
func lowestOf(d tensor.DType) float64 {
	if d == tensor.Float64 {
		return -math.MaxFloat64
	}
	return -math.MaxFloat32
}

// maxPoolCases feed a constant image as x and its pooled form as y of the gradient: both must belong together.
func (w *window2) maxPoolCases(a graph.Attrs, x, y operand, d tensor.DType, edge bool) []*opCase {
	const batchMax = 6
	value := func(i int) float64 {
		v := (i*7919 + 13) % 101 // few equal elements, known to x and y
		if odd := []float64{math.NaN(), math.Inf(-1), 1, 1, 0, math.Copysign(0, -1), math.Inf(1)}; edge {
			return odd[v%(2+i/3%6)]
		}
		return float64(v)
	}
	// The largest pixel is the first until another one is larger, which none is than NaN.
	winners := func(image func(i int) float64, xs, ys []int) (top []float64, at []int) {
		n := tensor.NumElements(ys)
		top, at = slices.Repeat([]float64{lowestOf(d)}, n), slices.Repeat([]int{-1}, n)
		w.pairs(xs, ys, func(i, o int) {
			v := image(i)
			if at[o] < 0 || image(at[o]) < v {
				at[o] = i
			}
			if v > top[o] {
				top[o] = v
			}
		})
		return top, at
	}
	pooled, _ := winners(value, x.typ.Shape.At(batchMax), y.typ.Shape.At(batchMax))
	x.gen = func(_ *rand.Rand, i int) float64 { return value(i) }
	pool := operand{typ: y.typ, gen: func(_ *rand.Rand, i int) float64 { return pooled[i] }}
	return []*opCase{
		{op: "MaxPool", attrs: a, only: d, in: []operand{x}, out: []graph.Type{y.typ}, ref: func(in []nd, out [][]int) []nd {
			top, _ := winners(func(i int) float64 { return in[0].data[i] }, in[0].shape, out[0])
			return []nd{{out[0], top}}
		}},
		{op: "MaxPoolGrad", attrs: a, only: d, in: []operand{x, pool, y}, out: []graph.Type{x.typ}, ref: func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			_, at := winners(func(i int) float64 { return in[0].data[i] }, out[0], in[2].shape)
			for o, i := range at {
				if i >= 0 {
					r.data[i] += in[2].data[o]
				}
			}
			return []nd{r}
		}},
	}
}

// pairs calls f with the offsets of every input element and the output element that covers it.
func (w *window2) pairs(xs, ys []int, f func(x, y int)) {
	w.taps(xs, ys, func(n, oh, ow, _, _, h, q int) {
		for c := range xs[3] {
			f(flat(xs, n, h, q, c), flat(ys, n, oh, ow, c))
		}
	})
}

func (w *window2) counts(xs, ys []int) nd {
	n := newND(ys)
	w.pairs(xs, ys, func(_, y int) { n.data[y]++ })
	return n
}

func normCases() []*opCase {
	var all []*opCase
	for _, s := range []string{"B,3,2,5", "2B,5"} {
		p := positive("5")
		outs := []graph.Type{fl(s), fl("5"), fl("5"), fl("5"), fl("5"), fl("")}
		for _, training := range []bool{false, true} {
			x := feedOf(s)
			if !training {
				x = edgeFeedOf(s)
			}
			for _, factor := range []float32{1, 0.25} {
				a := graph.Attrs{"is_training": training, "epsilon": float32(0.01), "exponential_avg_factor": factor}
				all = append(all, &opCase{op: "FusedBatchNormV3", attrs: a, tol: 20, in: []operand{x, p, feedOf("5"), feedOf("5"), p}, out: outs,
					ref: func(in []nd, out [][]int) []nd { return normRef(in, training, float64(factor)) }})
			}
			fused := graph.Attrs{"is_training": training, "epsilon": float32(0.01), "activation_mode": []byte("Relu")}
			all = append(all, &opCase{op: "_FusedBatchNormEx", attrs: fused, tol: 20, in: []operand{x, p, feedOf("5"), feedOf("5"), p}, out: outs,
				ref: func(in []nd, out [][]int) []nd {
					r := normRef(in, training, 1)
					for i, e := range r[0].data {
						r[0].data[i] = math.Max(e, 0)
					}
					return r
				}})
			added := graph.Attrs{"is_training": training, "epsilon": float32(0.01), "num_side_inputs": int64(1)}
			all = append(all, &opCase{op: "_FusedBatchNormEx", attrs: added, tol: 20, in: []operand{x, p, feedOf("5"), feedOf("5"), p, edgeFeedOf(s)}, out: outs,
				ref: func(in []nd, out [][]int) []nd {
					r := normRef(in[:5], training, 1)
					for i := range r[0].data {
						r[0].data[i] += in[5].data[i]
					}
					return r
				}})
			a := graph.Attrs{"is_training": training, "epsilon": float32(0.01)}
			all = append(all, &opCase{op: "FusedBatchNormGradV3", attrs: a, tol: 50, in: []operand{feedOf(s), x, p, feedOf("5"), p, feedOf("")},
				out: []graph.Type{fl(s), fl("5"), fl("5"), fl("0"), fl("0")}, ref: func(in []nd, out [][]int) []nd { return normGradRef(in, training) }})
		}
	}
	return all
}

const normEpsilon = float64(float32(0.01))

func moments(x nd) (mean, variance nd, rows float64) {
	mean, variance = newND([]int{5}), newND([]int{5})
	rows = float64(len(x.data) / 5)
	for i, e := range x.data {
		mean.data[i%5] += e / rows
	}
	for i, e := range x.data {
		variance.data[i%5] += math.Pow(e-mean.data[i%5], 2) / rows
	}
	return mean, variance, rows
}

func normRef(in []nd, training bool, factor float64) []nd {
	x, gamma, beta := in[0], in[1], in[2]
	m, v := in[3], in[4]
	outM, outV := m, v
	if training {
		var rows float64
		m, v, rows = moments(x)
		outM, outV = newND([]int{5}), newND([]int{5})
		for i := range 5 {
			outM.data[i] = (1-factor)*in[3].data[i] + factor*m.data[i]
			outV.data[i] = (1-factor)*in[4].data[i] + factor*v.data[i]*rows/math.Max(rows-1, 1)
		}
	}
	y := newND(x.shape)
	for i, e := range x.data {
		c := i % 5
		y.data[i] = (e-m.data[c])/math.Sqrt(v.data[c]+normEpsilon)*gamma.data[c] + beta.data[c]
	}
	return []nd{y, outM, outV, m, v}
}

// normGradRef differentiates through the moments one by one. The reserves are any given vectors, as in a frozen layer;
// in training they stand for the batch's moments in the op's own formula.
func normGradRef(in []nd, training bool) []nd {
	dy, x, gamma, m, v := in[0], in[1], in[2], in[3], in[4]
	cols := len(gamma.data)
	dx, dg, db := newND(x.shape), newND([]int{cols}), newND([]int{cols})
	rows := float64(len(x.data) / cols)
	hat := func(i int) float64 { return (x.data[i] - m.data[i%cols]) / math.Sqrt(v.data[i%cols]+normEpsilon) }
	for i, d := range dy.data {
		dg.data[i%cols] += d * hat(i)
		db.data[i%cols] += d
	}
	for i, d := range dy.data {
		c := i % cols
		k := gamma.data[c] / math.Sqrt(v.data[c]+normEpsilon)
		dx.data[i] = k * d
		if training {
			dx.data[i] = k * (d - db.data[c]/rows - hat(i)*dg.data[c]/rows)
		}
	}
	return []nd{dx, dg, db}
}
