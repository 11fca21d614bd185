package engine

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// window3 is one geometry of the volume cases.
type window3 struct {
	in      string // B,D,H,W,C
	k       [3]int
	stride  [3]int
	padding string
	before  [3]int // padding that SAME adds before; the rest follows from the sizes
	out     string
}

var windows3 = []window3{
	{in: "B,4,5,3,2", k: [3]int{2, 3, 2}, stride: [3]int{1, 1, 1}, padding: "VALID", out: "B,3,3,2"},
	{in: "B,4,5,3,3", k: [3]int{3, 2, 3}, stride: [3]int{2, 1, 2}, padding: "SAME", before: [3]int{0, 0, 1}, out: "B,2,5,2"},
	{in: "B,3,3,3,2", k: [3]int{1, 1, 1}, stride: [3]int{1, 1, 1}, padding: "SAME", out: "B,3,3,3"},
}

func (w *window3) attrs() graph.Attrs {
	return graph.Attrs{"strides": []int64{1, int64(w.stride[0]), int64(w.stride[1]), int64(w.stride[2]), 1}, "padding": []byte(w.padding), "data_format": []byte("NDHWC")}
}

// pairs calls f for each pixel y of the result and tap k, with the pixel x of the volume that they meet, counted without channels.
func (w *window3) pairs(xs, ys []int, f func(x, k, y int)) {
	for y := range xs[0] * ys[1] * ys[2] * ys[3] {
		at := [3]int{y / (ys[2] * ys[3]) % ys[1], y / ys[3] % ys[2], y % ys[3]}
		for k := range w.k[0] * w.k[1] * w.k[2] {
			tap, x, inside := [3]int{k / (w.k[1] * w.k[2]), k / w.k[2] % w.k[1], k % w.k[2]}, y/(ys[1]*ys[2]*ys[3]), true
			for i := range 3 {
				p := at[i]*w.stride[i] - w.before[i] + tap[i]
				inside = inside && p >= 0 && p < xs[1+i]
				x = x*xs[1+i] + p
			}
			if inside {
				f(x, k, y)
			}
		}
	}
}

// triples calls f for each element of the volume, the filter and the result that a convolution combines.
func (w *window3) triples(xs, ks, ys []int, f func(x, k, y int)) {
	w.pairs(xs, ys, func(x, k, y int) {
		for c := range ks[3] {
			for o := range ks[4] {
				f(x*xs[4]+c, (k*ks[3]+c)*ks[4]+o, y*ys[4]+o)
			}
		}
	})
}

func volumeCases() []*opCase {
	var all []*opCase
	for i := range windows3 {
		w := &windows3[i]
		all = append(append(all, w.convCases()...), w.poolCases()...)
	}
	return all
}

func (w *window3) convCases() []*opCase {
	x, y := feedOf(w.in), feedOf(w.out)
	y.typ.Shape.Dims = append(y.typ.Shape.Dims, graph.Fixed(4))
	k := operand{typ: graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(w.k[0], w.k[1], w.k[2], x.typ.Shape.Dims[4].Const, 4)}, gen: normalGen}
	sizes := ints(0, 0, 0, 0, 0) // not read
	return []*opCase{
		{op: "Conv3D", attrs: w.attrs(), tol: 10, in: []operand{x, k}, out: []graph.Type{y.typ}, ref: func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			w.triples(in[0].shape, in[1].shape, out[0], func(x, k, y int) { r.data[y] += in[0].data[x] * in[1].data[k] })
			return []nd{r}
		}},
		{op: "Conv3DBackpropInputV2", attrs: w.attrs(), tol: 10, in: []operand{sizes, k, y}, out: []graph.Type{x.typ}, ref: func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			w.triples(out[0], in[1].shape, in[2].shape, func(x, k, y int) { r.data[x] += in[2].data[y] * in[1].data[k] })
			return []nd{r}
		}},
		{op: "Conv3DBackpropFilterV2", attrs: w.attrs(), tol: 10, in: []operand{x, sizes, y}, out: []graph.Type{k.typ}, ref: func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			w.triples(in[0].shape, out[0], in[2].shape, func(x, k, y int) { r.data[k] += in[0].data[x] * in[2].data[y] })
			return []nd{r}
		}},
	}
}

func (w *window3) poolCases() []*opCase {
	x, y := feedOf(w.in), feedOf(w.out)
	y.typ.Shape.Dims = append(y.typ.Shape.Dims, x.typ.Shape.Dims[4])
	a := w.attrs()
	a["ksize"] = []int64{1, int64(w.k[0]), int64(w.k[1]), int64(w.k[2]), 1}
	each := func(xs, ys []int, f func(x, y int)) {
		w.pairs(xs, ys, func(x, _, y int) {
			for c := range xs[4] {
				f(x*xs[4]+c, y*xs[4]+c)
			}
		})
	}
	count := func(xs, ys []int) nd {
		n := newND(ys)
		each(xs, ys, func(_, y int) { n.data[y]++ })
		return n
	}
	largest := func(in nd, ys []int) nd {
		top := newND(ys)
		for i := range top.data {
			top.data[i] = math.Inf(-1)
		}
		each(in.shape, ys, func(x, y int) { top.data[y] = max(top.data[y], in.data[x]) })
		return top
	}
	return []*opCase{
		{op: "MaxPool3D", attrs: a, in: []operand{x}, out: []graph.Type{y.typ}, ref: func(in []nd, out [][]int) []nd { return []nd{largest(in[0], out[0])} }},
		// orig_output is random, too: it equals no element of its window, or one by chance.
		{op: "MaxPool3DGrad", attrs: a, in: []operand{x, y, y}, out: []graph.Type{x.typ}, ref: func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			each(out[0], in[2].shape, func(x, y int) {
				if in[0].data[x] == in[1].data[y] {
					r.data[x] += in[2].data[y]
				}
			})
			return []nd{r}
		}},
		{op: "AvgPool3D", attrs: a, in: []operand{x}, out: []graph.Type{y.typ}, ref: func(in []nd, out [][]int) []nd {
			r, n := newND(out[0]), count(in[0].shape, out[0])
			each(in[0].shape, out[0], func(x, y int) { r.data[y] += in[0].data[x] / n.data[y] })
			return []nd{r}
		}},
		{op: "AvgPool3DGrad", attrs: a, in: []operand{ints(0, 0, 0, 0, 0), y}, out: []graph.Type{x.typ}, ref: func(in []nd, out [][]int) []nd {
			r, n := newND(out[0]), count(out[0], in[1].shape)
			each(out[0], in[1].shape, func(x, y int) { r.data[x] += in[1].data[y] / n.data[y] })
			return []nd{r}
		}},
	}
}
