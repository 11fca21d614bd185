package engine

import (
	"math"
	"math/rand/v2"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// unravel splits an offset into indices.
func unravel(i int, shape []int) []int {
	at := make([]int, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		at[k] = i % shape[k]
		i /= shape[k]
	}
	return at
}

func ravel(at, shape []int) int {
	i := 0
	for k, n := range shape {
		i = i*n + at[k]
	}
	return i
}

// picked is the reference of an op whose result's elements are elements of input 0; from maps indices, nil for a zero.
func picked(from func(at []int, in []nd) []int) func(in []nd, out [][]int) []nd {
	return func(in []nd, out [][]int) []nd {
		r := newND(out[0])
		for i := range r.data {
			if at := from(unravel(i, out[0]), in); at != nil {
				r.data[i] = in[0].data[ravel(at, in[0].shape)]
			}
		}
		return []nd{r}
	}
}

func structureCases() []*opCase {
	same := func(in []nd, out [][]int) []nd { return []nd{{out[0], in[0].data}} }
	var all []*opCase
	for _, op := range []string{"Identity", "StopGradient", "PreventGradient", "PlaceholderWithDefault", "DeepCopy"} {
		all = append(all, &opCase{op: op, in: []operand{feedOf("B,3")}, out: []graph.Type{fl("B,3")}, ref: same})
	}
	all = append(all,
		&opCase{op: "Reshape", in: []operand{feedOf("B,4,3"), ints(-1, 12)}, out: []graph.Type{fl("B,12")}, ref: same},
		&opCase{op: "Reshape", in: []operand{feedOf("B,4,3"), ints(-1)}, out: []graph.Type{fl("12B")}, ref: same},
		&opCase{op: "ExpandDims", in: []operand{feedOf("B,4"), ints(1)}, out: []graph.Type{fl("B,1,4")}, ref: same},
		&opCase{op: "Squeeze", in: []operand{feedOf("B,1,4,1")}, out: []graph.Type{fl("B,4")}, ref: same})
	for _, d := range []tensor.DType{tensor.Int32, tensor.Int64} {
		all = append(all,
			&opCase{op: "Shape", in: []operand{feedOf("B,4,2B")}, out: []graph.Type{ty(d, "3")}, ref: func(in []nd, out [][]int) []nd {
				r := newND(out[0])
				for i, n := range in[0].shape {
					r.data[i] = float64(n)
				}
				return []nd{r}
			}},
			&opCase{op: "Size", in: []operand{feedOf("B,4")}, out: []graph.Type{ty(d, "")}, ref: func(in []nd, _ [][]int) []nd {
				return []nd{{nil, []float64{float64(len(in[0].data))}}}
			}},
			&opCase{op: "Rank", in: []operand{feedOf("B,4")}, out: []graph.Type{ty(d, "")}, ref: func(in []nd, _ [][]int) []nd { return []nd{{nil, []float64{2}}} }})
	}
	return append(all, generateCases()...)
}

func generateCases() []*opCase {
	constant := func(f func(in []nd) float64) func(in []nd, out [][]int) []nd {
		return func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			for i := range r.data {
				r.data[i] = f(in)
			}
			return []nd{r}
		}
	}
	all := []*opCase{
		{op: "ZerosLike", in: []operand{feedOf("B,3")}, out: []graph.Type{fl("B,3")}, ref: constant(func([]nd) float64 { return 0 })},
		{op: "OnesLike", in: []operand{feedOf("B,3")}, out: []graph.Type{fl("B,3")}, ref: constant(func([]nd) float64 { return 1 })},
		{op: "Fill", in: []operand{ints(-1, 3), feedOf("")}, out: []graph.Type{fl("B,3")}, ref: constant(func(in []nd) float64 { return in[1].data[0] })},
		{op: "Fill", in: []operand{ints(-1), scalar(tensor.Bool, 1)}, out: []graph.Type{ty(tensor.Bool, "B")}, ref: constant(func(in []nd) float64 { return 1 })},
	}
	steps := func(in []nd, out [][]int) []nd {
		r := newND(out[0])
		for i := range r.data {
			r.data[i] = in[0].data[0] + float64(i)*in[2].data[0]
		}
		return []nd{r}
	}
	for _, d := range []tensor.DType{tensor.Float32, tensor.Int32, tensor.Int64} {
		all = append(all, &opCase{op: "Range", in: []operand{scalar(d, 3), scalar(d, -1), scalar(d, -2)}, out: []graph.Type{ty(d, "2B")}, ref: steps})
	}
	for _, o := range []struct {
		axis int64
		out  string
	}{{-1, "B,3,4"}, {0, "4,B,3"}, {1, "B,4,3"}} {
		axis := int(o.axis)
		if axis < 0 {
			axis = 2
		}
		all = append(all, &opCase{op: "OneHot", attrs: graph.Attrs{"axis": o.axis}, in: []operand{
			{typ: ty(tensor.Int64, "B,3"), gen: func(r *rand.Rand, _ int) float64 { return float64(r.IntN(6) - 1) }}, ints2(4), scalar(tensor.Float32, 2), scalar(tensor.Float32, -1)},
			out: []graph.Type{fl(o.out)}, ref: func(in []nd, out [][]int) []nd {
				r := newND(out[0])
				for i := range r.data {
					at := unravel(i, out[0])
					rest := append(append([]int{}, at[:axis]...), at[axis+1:]...)
					r.data[i] = -1
					if int(in[0].data[ravel(rest, in[0].shape)]) == at[axis] {
						r.data[i] = 2
					}
				}
				return []nd{r}
			}})
	}
	return all
}

// ints2 is a scalar int32.
func ints2(v float64) operand { return scalar(tensor.Int32, v) }

func castCases() []*opCase {
	var all []*opCase
	types := []tensor.DType{tensor.Uint8, tensor.Int32, tensor.Int64, tensor.Bool, tensor.Uint64, tensor.Float32, tensor.Float64}
	for _, from := range types {
		for _, to := range types {
			o := operand{typ: ty(from, "B,5"), gen: below(4)}
			if from == tensor.Float32 {
				o.gen = func(r *rand.Rand, _ int) float64 { return 4 * r.Float64() }
			}
			all = append(all, &opCase{op: "Cast", in: []operand{o}, out: []graph.Type{ty(to, "B,5")}, ref: mapped(func(x ...float64) float64 {
				switch {
				case to == tensor.Bool:
					return truth(x[0] != 0)
				case to.Float():
					return x[0]
				}
				return math.Trunc(x[0])
			})})
		}
	}
	return all
}

func layoutCases() []*opCase {
	var all []*opCase
	for _, c := range []struct {
		in, out string
		perm    []float64
	}{{"B,5", "5,B", []float64{1, 0}}, {"B,2,3", "3,B,2", []float64{2, 0, 1}}, {"B,2,3,4", "B,4,2,3", []float64{0, 3, 1, 2}},
		{"B,2,3,4", "B,3,2,4", []float64{0, 2, 1, 3}}, {"B", "B", []float64{0}}, {"B,40,50", "B,50,40", []float64{0, 2, 1}}} {
		all = append(all, &opCase{op: "Transpose", in: []operand{feedOf(c.in), ints(c.perm...)}, out: []graph.Type{fl(c.out)},
			ref: picked(func(at []int, in []nd) []int {
				from := make([]int, len(at))
				for i, p := range c.perm {
					from[int(p)] = at[i]
				}
				return from
			})})
	}
	for _, c := range [][2]string{{"3", "B,3"}, {"", "B,2"}, {"B,1,3", "B,4,3"}, {"1,3", "B,3"}, {"B", "2,B"}} {
		all = append(all, &opCase{op: "BroadcastTo", in: []operand{feedOf(c[0]), ints(0)}, out: []graph.Type{fl(c[1])}, ref: func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			for i := range r.data {
				r.data[i] = in[0].data[broadcastIndex(i, out[0], in[0].shape)]
			}
			return []nd{r}
		}})
	}
	for _, c := range [][2]string{{"B,3", "2B,6"}, {"2,3", "2,3"}, {"B,1,2", "B,5,2"}} {
		all = append(all, &opCase{op: "Tile", in: []operand{feedOf(c[0]), ints(0)}, out: []graph.Type{fl(c[1])}, ref: picked(func(at []int, in []nd) []int {
			for i := range at {
				at[i] %= in[0].shape[i]
			}
			return at
		})})
	}
	return append(append(append(all, sliceCases()...), padCases()...), joinCases()...)
}

func sliceCases() []*opCase {
	all := []*opCase{
		{op: "Slice", in: []operand{feedOf("B,5,4"), ints(0, 1, 2), ints(-1, 3, 2)}, out: []graph.Type{fl("B,3,2")},
			ref: picked(func(at []int, _ []nd) []int { return []int{at[0], at[1] + 1, at[2] + 2} })},
	}
	for _, c := range []struct {
		in, out                      string
		begin, end, stride           []float64
		bm, em, ellipsis, newA, shrk int64
		from                         func(at []int, n []int) []int
	}{
		{"B,5", "B,2", []float64{0, 1}, []float64{0, 5}, []float64{1, 2}, 1, 1, 0, 0, 0, func(at, n []int) []int { return []int{at[0], 1 + 2*at[1]} }},
		{"B,5", "B,5", []float64{0, 0}, []float64{0, 0}, []float64{1, -1}, 3, 3, 0, 0, 0, func(at, n []int) []int { return []int{at[0], 4 - at[1]} }},
		{"B,5", "B", []float64{0, -1}, []float64{0, 0}, []float64{1, 1}, 1, 1, 0, 0, 2, func(at, n []int) []int { return []int{at[0], 4} }},
		{"B,3,4", "B,3,2", []float64{0, -2}, []float64{0, 9}, []float64{1, 1}, 0, 0, 1, 0, 0, func(at, n []int) []int { return []int{at[0], at[1], at[2] + 2} }},
		{"B,3,4", "B,1,3,2", []float64{0, 0, 0, 1}, []float64{0, 0, 0, 3}, []float64{1, 1, 1, 1}, 5, 5, 0, 2, 0, func(at, n []int) []int { return []int{at[0], at[2], at[3] + 1} }},
		{"B,3", "3", []float64{-1}, []float64{0}, []float64{1}, 0, 0, 0, 0, 1, func(at, n []int) []int { return []int{n[0] - 1, at[0]} }},
	} {
		a := graph.Attrs{"begin_mask": c.bm, "end_mask": c.em, "ellipsis_mask": c.ellipsis, "new_axis_mask": c.newA, "shrink_axis_mask": c.shrk}
		all = append(all,
			&opCase{op: "StridedSlice", attrs: a, in: []operand{feedOf(c.in), ints(c.begin...), ints(c.end...), ints(c.stride...)}, out: []graph.Type{fl(c.out)},
				ref: picked(func(at []int, in []nd) []int { return c.from(at, in[0].shape) })},
			&opCase{op: "StridedSliceGrad", attrs: a, in: []operand{ints(0), ints(c.begin...), ints(c.end...), ints(c.stride...), feedOf(c.out)}, out: []graph.Type{fl(c.in)},
				ref: func(in []nd, out [][]int) []nd {
					r := newND(out[0])
					for i, e := range in[4].data {
						r.data[ravel(c.from(unravel(i, in[4].shape), out[0]), out[0])] += e
					}
					return []nd{r}
				}})
	}
	return all
}

func padCases() []*opCase {
	padded := func(in []nd, out [][]int) []nd {
		r := newND(out[0])
		for i := range r.data {
			if len(in) > 2 {
				r.data[i] = in[2].data[0]
			}
			at := unravel(i, out[0])
			inside := true
			for k := range at {
				at[k] -= int(in[1].data[2*k])
				inside = inside && at[k] >= 0 && at[k] < in[0].shape[k]
			}
			if inside {
				r.data[i] = in[0].data[ravel(at, in[0].shape)]
			}
		}
		return []nd{r}
	}
	pads := operand{typ: ty(tensor.Int32, "3,2"), constant: true, values: []float64{0, 0, 1, 2, 3, 0}}
	return []*opCase{
		{op: "Pad", in: []operand{feedOf("B,2,3"), pads}, out: []graph.Type{fl("B,5,6")}, ref: padded},
		{op: "PadV2", in: []operand{feedOf("B,2,3"), pads, feedOf("")}, out: []graph.Type{fl("B,5,6")}, ref: padded},
	}
}

func joinCases() []*opCase {
	var all []*opCase
	concat := func(axis int) func(in []nd, out [][]int) []nd {
		return func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			for i := range r.data {
				at, k := unravel(i, out[0]), 0
				for at[axis] >= in[k].shape[axis] {
					at[axis] -= in[k].shape[axis]
					k++
				}
				r.data[i] = in[k].data[ravel(at, in[k].shape)]
			}
			return []nd{r}
		}
	}
	all = append(all,
		&opCase{op: "ConcatV2", in: []operand{feedOf("B,2,3"), feedOf("B,1,3"), feedOf("B,4,3"), ints2(1)}, out: []graph.Type{fl("B,7,3")}, ref: concat(1)},
		&opCase{op: "ConcatV2", in: []operand{feedOf("B,2"), feedOf("2B,2"), ints2(0)}, out: []graph.Type{fl("3B,2")}, ref: concat(0)},
		&opCase{op: "ConcatV2", in: []operand{intsOf(tensor.Int64, "B,2", 9), intsOf(tensor.Int64, "B,3", 9), ints2(-1)}, out: []graph.Type{ty(tensor.Int64, "B,5")}, ref: concat(1)})
	for _, c := range []struct {
		axis int64
		out  string
	}{{0, "2,B,3"}, {1, "B,2,3"}, {-1, "B,3,2"}} {
		axis := (int(c.axis) + 3) % 3
		all = append(all,
			&opCase{op: "Pack", attrs: graph.Attrs{"axis": c.axis}, in: []operand{feedOf("B,3"), feedOf("B,3")}, out: []graph.Type{fl(c.out)}, ref: func(in []nd, out [][]int) []nd {
				r := newND(out[0])
				for i := range r.data {
					at := unravel(i, out[0])
					r.data[i] = in[at[axis]].data[ravel(append(append([]int{}, at[:axis]...), at[axis+1:]...), in[0].shape)]
				}
				return []nd{r}
			}},
			&opCase{op: "Unpack", attrs: graph.Attrs{"axis": c.axis}, in: []operand{feedOf(c.out)}, out: []graph.Type{fl("B,3"), fl("B,3")}, ref: func(in []nd, out [][]int) []nd {
				r := []nd{newND(out[0]), newND(out[1])}
				for i, e := range in[0].data {
					at := unravel(i, in[0].shape)
					k := at[axis]
					r[k].data[ravel(append(append([]int{}, at[:axis]...), at[axis+1:]...), out[0])] = e
				}
				return r
			}})
	}
	return append(all, &opCase{op: "Split", in: []operand{ints2(1), feedOf("B,6")}, out: []graph.Type{fl("B,3"), fl("B,3")}, ref: func(in []nd, out [][]int) []nd {
		r := []nd{newND(out[0]), newND(out[1])}
		for i, e := range in[1].data {
			r[i%6/3].data[i/6*3+i%3] = e
		}
		return r
	}})
}

func selectCases() []*opCase {
	var all []*opCase
	for _, s := range [][4]string{{"B,4", "B,4", "B,4", "B,4"}, {"B,1", "B,4", "", "B,4"}, {"", "4", "B,1", "B,4"}, {"B,4", "", "", "B,4"}, {"3", "B,1,1", "2,1", "B,2,3"}} {
		all = append(all, &opCase{op: "SelectV2", in: []operand{boolOf(s[0]), edgeFeedOf(s[1]), edgeFeedOf(s[2])}, out: []graph.Type{fl(s[3])}, ref: mapped(func(x ...float64) float64 {
			if x[0] != 0 {
				return x[1]
			}
			return x[2]
		})})
	}
	sum := mapped(func(x ...float64) float64 {
		total := 0.0
		for _, e := range x {
			total += e
		}
		return total
	})
	for n := 1; n <= 4; n++ {
		c := &opCase{op: "AddN", out: []graph.Type{fl("B,6")}, ref: sum}
		for range n {
			c.in = append(c.in, edgeFeedOf("B,6"))
		}
		all = append(all, c)
	}
	return append(all, &opCase{op: "AddN", in: []operand{intsOf(tensor.Int32, "B", 5), intsOf(tensor.Int32, "B", 5)}, out: []graph.Type{ty(tensor.Int32, "B")}, ref: sum})
}
