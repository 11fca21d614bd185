package ops_test

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

func imageCases() []opCase {
	one, two := [2]int{1, 1}, [2]int{2, 2}
	geometries := []struct {
		detail   string
		padding  ops.Padding
		stride   [2]int
		explicit [4]int
	}{
		{"valid", ops.Valid, one, [4]int{}}, {"same", ops.Same, one, [4]int{}}, {"same strided", ops.Same, two, [4]int{}},
		{"valid strided", ops.Valid, [2]int{2, 1}, [4]int{}}, {"explicit", ops.Explicit(1, 2, 0, 1), two, [4]int{1, 2, 0, 1}},
	}
	var out []opCase
	for _, g := range geometries {
		for _, k := range []struct {
			fn     string
			op     func(c models.Context, x, f *G.Node, s [2]int, p ops.Padding) *G.Node
			filter operand
		}{{"Conv2D", ops.Conv2D, param(3, 2, 2, 3)}, {"DepthwiseConv2D", ops.DepthwiseConv2D, param(3, 2, 2, 2)}} {
			out = append(out, opCase{fn: k.fn, detail: g.detail, in: []operand{batch(6, 5, 2), k.filter},
				ref:   convolved(k.fn == "DepthwiseConv2D", g.stride, g.padding.String(), g.explicit),
				build: func(c models.Context, in []*G.Node) *G.Node { return k.op(c, in[0], in[1], g.stride, g.padding) }})
		}
		if g.detail == "explicit" {
			continue
		}
		for _, k := range []struct {
			fn string
			op func(c models.Context, x *G.Node, w, s [2]int, p ops.Padding) *G.Node
		}{{"MaxPool", ops.MaxPool}, {"AvgPool", ops.AvgPool}} {
			size := [2]int{3, 2}
			out = append(out, opCase{fn: k.fn, detail: g.detail, in: []operand{batch(6, 5, 2)},
				ref:   pooled(k.fn == "AvgPool", size, g.stride, g.padding.String()),
				build: func(c models.Context, in []*G.Node) *G.Node { return k.op(c, in[0], size, g.stride, g.padding) }})
		}
	}
	return append(out, normCases()...)
}

func normCases() []opCase {
	eps := float64(float32(1e-3)) // as the attribute holds it
	x, channel := batch(3, 2, 2), param(2)
	training := func(pick int) func(c models.Context, in []*G.Node) *G.Node {
		return func(c models.Context, in []*G.Node) *G.Node {
			y, mean, variance := ops.FusedBatchNorm(c, in[0], ops.Norm{Scale: in[1], Offset: in[2], Epsilon: eps, Training: true})
			return []*G.Node{y, mean, variance}[pick]
		}
	}
	stat := func(variance bool) func(in []*array) *array {
		return func(in []*array) *array {
			m, v := channelMoments(in[0])
			n := float64(len(in[0].data) / len(m))
			for i := range v {
				v[i] *= n / (n - 1)
			}
			if variance {
				return &array{[]int{len(v)}, v}
			}
			return &array{[]int{len(m)}, m}
		}
	}
	in := []operand{x, channel, channel}
	return []opCase{
		{fn: "FusedBatchNorm", detail: "training", in: in, build: training(0), tolerance: 2e-4, ref: func(in []*array) *array {
			m, v := channelMoments(in[0])
			return normalized(in[0], m, v, in[1].data, in[2].data, eps)
		}},
		{fn: "FusedBatchNorm", detail: "batch mean", in: in, build: training(1), ref: stat(false), noGrad: true},
		{fn: "FusedBatchNorm", detail: "batch variance", in: in, build: training(2), ref: stat(true), noGrad: true},
		{fn: "FusedBatchNorm", detail: "inference", in: append(in, channel.constant(), channel.in(0.5, 2).constant()), tolerance: 2e-4,
			build: func(c models.Context, in []*G.Node) *G.Node {
				y, _, _ := ops.FusedBatchNorm(c, in[0], ops.Norm{Scale: in[1], Offset: in[2], Mean: in[3], Variance: in[4], Epsilon: eps})
				return y
			},
			ref: func(in []*array) *array {
				return normalized(in[0], in[3].data, in[4].data, in[1].data, in[2].data, eps)
			}},
	}
}

// indexCases are the ops on indices and on random numbers.
func indexCases() []opCase {
	gather := func(in []*array) *array {
		w := in[0].shape[1]
		return fill(append(append([]int{}, in[1].shape...), w), func(i []int) float64 {
			return in[0].at(int(in[1].at(i[:len(i)-1]...)), i[len(i)-1])
		})
	}
	hot := func(in []*array) *array {
		return fill(append(append([]int{}, in[0].shape...), 4), func(i []int) float64 {
			return truth(int(in[0].at(i[:len(i)-1]...)) == i[len(i)-1])
		})
	}
	ids := func(dims ...int) operand { return batch(dims...).in(0, 5).of(tensor.Int64) }
	top := func(index bool) func(in []*array) *array {
		return func(in []*array) *array {
			return fill([]int{in[0].shape[0], 2}, func(i []int) float64 { return ranked(in[0], i[0], i[1], index) })
		}
	}
	within := func(in []*array) *array {
		return fill(in[1].shape, func(i []int) float64 {
			mine, above := in[0].at(i[0], int(in[1].at(i...))), 0
			for k := range in[0].shape[1] {
				above += int(truth(in[0].at(i[0], k) > mine))
			}
			return truth(above < 2)
		})
	}
	topk := func(pick int) func(c models.Context, in []*G.Node) *G.Node {
		return func(c models.Context, in []*G.Node) *G.Node {
			v, i := ops.TopK(c, in[0], 2)
			return []*G.Node{v, i}[pick]
		}
	}
	// Only the bounds are checked: the random numbers have a test of their own.
	inUnit := func(c models.Context, in []*G.Node) *G.Node {
		u := ops.RandomUniform(c, in[0])
		return ops.LogicalAnd(c, ops.GreaterEqual(c, u, ops.ZerosLike(c, u)), ops.Less(c, u, ops.OnesLike(c, u)))
	}
	return []opCase{
		{fn: "Gather", in: []operand{param(5, 3), ids()}, build: second(ops.Gather), ref: gather},
		{fn: "Gather", detail: "rank 2", in: []operand{param(5, 3), ids(2)}, build: second(ops.Gather), ref: gather},
		{fn: "Gather", detail: "twice", in: []operand{param(5, 3), ids()}, ref: func(in []*array) *array {
			return zipped(func(x, y float64) float64 { return x * y })([]*array{gather(in), gather(in)})
		}, build: func(c models.Context, in []*G.Node) *G.Node {
			return ops.Mul(c, ops.Gather(c, in[0], in[1]), ops.Gather(c, in[0], in[1]))
		}},
		{fn: "GatherEach", in: []operand{batch(5), ids(3)}, build: second(ops.GatherEach), ref: func(in []*array) *array {
			return fill(in[1].shape, func(at []int) float64 { return in[0].data[at[0]*5+int(in[1].data[at[0]*3+at[1]])] })
		}},
		{fn: "OneHot", in: []operand{ids(2)}, noGrad: true, ref: hot,
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.OneHot(c, in[0], 4, tensor.Float32) }},
		{fn: "TopK", in: []operand{batch(6)}, build: topk(0), ref: top(false)},
		{fn: "TopK", detail: "indices", in: []operand{batch(6)}, noGrad: true, build: topk(1), ref: top(true)},
		{fn: "InTopK", in: []operand{batch(5), ids()}, noGrad: true, ref: within,
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.InTopK(c, in[0], in[1], 2) }},
		{fn: "RandomUniform", in: []operand{batch(4)}, noGrad: true, build: inUnit, ref: mapped(func(float64) float64 { return 1 })},
		{fn: "Dropout", detail: "none", in: []operand{batch(4)}, ref: mapped(func(v float64) float64 { return v }),
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.Dropout(c, in[0], 0) }},
	}
}

// ranked returns the value, or the index, of the r-th largest of a row.
func ranked(x *array, row, r int, index bool) float64 {
	for k := range x.shape[1] {
		above := 0
		for j := range x.shape[1] {
			above += int(truth(x.at(row, j) > x.at(row, k) || x.at(row, j) == x.at(row, k) && j < k))
		}
		if above == r && index {
			return float64(k)
		}
		if above == r {
			return x.at(row, k)
		}
	}
	return -1
}
