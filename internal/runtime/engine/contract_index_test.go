package engine

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

func indexCases() []*opCase {
	var all []*opCase
	for _, c := range []struct {
		params, ids, out string
		axis, n          int
	}{{"7,3", "B", "B,3", 0, 7}, {"7,3", "B,2", "B,2,3", 0, 7}, {"B,5,2", "3", "B,3,2", 1, 5}, {"5", "", "", 0, 5}, {"B,4", "2,2", "B,2,2", -1, 4}} {
		for _, d := range []tensor.DType{tensor.Int32, tensor.Int64} {
			all = append(all, &opCase{op: "GatherV2", in: []operand{feedOf(c.params), intsOf(d, c.ids, c.n), ints2(float64(c.axis))}, out: []graph.Type{fl(c.out)},
				ref: func(in []nd, out [][]int) []nd {
					axis := (c.axis + len(in[0].shape)) % len(in[0].shape)
					r := newND(out[0])
					for i := range r.data {
						at := unravel(i, out[0])
						mid := at[axis : axis+len(in[1].shape)]
						from := append(append(append([]int{}, at[:axis]...), int(in[1].data[ravel(mid, in[1].shape)])), at[axis+len(mid):]...)
						r.data[i] = in[0].data[ravel(from, in[0].shape)]
					}
					return []nd{r}
				}})
		}
	}
	for _, d := range []tensor.DType{tensor.Int32, tensor.Int64} {
		all = append(all, &opCase{op: "GatherV2", attrs: graph.Attrs{"batch_dims": int64(1)}, in: []operand{feedOf("B,6"), intsOf(d, "B,3", 6), ints2(1)},
			out: []graph.Type{fl("B,3")}, ref: func(in []nd, out [][]int) []nd {
				r := newND(out[0])
				for i := range r.data {
					r.data[i] = in[0].data[i/3*6+int(in[1].data[i])]
				}
				return []nd{r}
			}})
	}
	signed := func(d tensor.DType, s string) operand {
		return operand{typ: ty(d, s), gen: func(r *rand.Rand, _ int) float64 { return float64(r.IntN(5) - 1) }}
	}
	segments := func(in []nd, out [][]int) []nd {
		r := newND(out[0])
		inner := len(r.data) / out[0][0]
		for i, e := range in[0].data {
			if k := int(in[1].data[i/inner]); k >= 0 {
				r.data[k*inner+i%inner] += e
			}
		}
		return []nd{r}
	}
	folded := func(empty float64, f func(a, v float64) float64) func(in []nd, out [][]int) []nd {
		return func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			inner := len(r.data) / out[0][0]
			for i := range r.data {
				r.data[i] = empty
			}
			for i, e := range in[0].data {
				if k := int(in[1].data[i/inner]); k >= 0 {
					r.data[k*inner+i%inner] = f(r.data[k*inner+i%inner], e)
				}
			}
			return []nd{r}
		}
	}
	for d, far := range map[tensor.DType]float64{tensor.Float32: math.MaxFloat32, tensor.Float64: math.MaxFloat64} {
		in := []operand{feedOf("B,2,3"), signed(tensor.Int32, "B,2"), ints2(4)}
		all = append(all,
			&opCase{op: "UnsortedSegmentMax", in: in, out: []graph.Type{fl("4,3")}, ref: folded(-far, math.Max), only: d},
			&opCase{op: "UnsortedSegmentMin", in: in, out: []graph.Type{fl("4,3")}, ref: folded(far, math.Min), only: d},
			&opCase{op: "UnsortedSegmentProd", in: in, out: []graph.Type{fl("4,3")}, ref: folded(1, func(a, v float64) float64 { return a * v }), only: d, tol: 8})
	}
	for _, c := range [][3]string{{"2B,3", "2B", "4,3"}, {"B,2,3", "B,2", "4,3"}, {"B", "B", "4"}} {
		all = append(all, &opCase{op: "UnsortedSegmentSum", in: []operand{feedOf(c[0]), signed(tensor.Int64, c[1]), ints2(4)}, out: []graph.Type{fl(c[2])}, ref: segments, tol: 2})
	}
	return append(append(append(all, argCases()...), topCases()...), append(nestedCases(), squareCases()...)...)
}

func argCases() []*opCase {
	best := func(axis int, better func(a, b float64) bool) func(in []nd, out [][]int) []nd {
		return func(in []nd, out [][]int) []nd {
			r, x := newND(out[0]), in[0]
			top := make([]float64, len(r.data))
			for i := range top {
				top[i] = math.NaN()
			}
			for i, e := range x.data {
				at := unravel(i, x.shape)
				o := ravel(append(append([]int{}, at[:axis]...), at[axis+1:]...), out[0])
				if math.IsNaN(top[o]) || better(e, top[o]) {
					top[o], r.data[o] = e, float64(at[axis])
				}
			}
			return []nd{r}
		}
	}
	more := func(a, b float64) bool { return a > b }
	fewer := func(a, b float64) bool { return a < b }
	var all []*opCase
	for _, d := range []tensor.DType{tensor.Int32, tensor.Int64} {
		all = append(all,
			&opCase{op: "ArgMax", in: []operand{feedOf("B,6"), ints2(-1)}, out: []graph.Type{ty(d, "B")}, ref: best(1, more)},
			&opCase{op: "ArgMax", in: []operand{feedOf("B,6,2"), ints2(1)}, out: []graph.Type{ty(d, "B,2")}, ref: best(1, more)},
			&opCase{op: "ArgMax", in: []operand{intsOf(tensor.Int32, "4,B", 3), ints2(0)}, out: []graph.Type{ty(d, "B")}, ref: best(0, more)},
			&opCase{op: "ArgMin", in: []operand{feedOf("B,6"), ints2(1)}, out: []graph.Type{ty(d, "B")}, ref: best(1, fewer)})
	}
	return all
}

func topCases() []*opCase {
	var all []*opCase
	few := operand{typ: fl("B,7"), gen: func(r *rand.Rand, _ int) float64 { return float64(r.IntN(4)) }} // many equal elements
	for _, o := range []operand{feedOf("B,7"), few} {
		all = append(all, &opCase{op: "TopKV2", in: []operand{o, ints2(3)}, out: []graph.Type{fl("B,3"), ty(tensor.Int32, "B,3")}, ref: func(in []nd, out [][]int) []nd {
			values, cols := newND(out[0]), newND(out[1])
			for r := range out[0][0] {
				row := in[0].data[r*7 : (r+1)*7]
				order := []int{0, 1, 2, 3, 4, 5, 6}
				sort.SliceStable(order, func(i, j int) bool { return row[order[i]] > row[order[j]] })
				for k := range 3 {
					values.data[r*3+k], cols.data[r*3+k] = row[order[k]], float64(order[k])
				}
			}
			return []nd{values, cols}
		}},
			&opCase{op: "InTopKV2", in: []operand{o, intsOf(tensor.Int32, "B", 7), ints2(2)}, out: []graph.Type{ty(tensor.Bool, "B")}, ref: func(in []nd, out [][]int) []nd {
				r := newND(out[0])
				for i := range r.data {
					row, above := in[0].data[i*7:(i+1)*7], 0
					for _, e := range row {
						above += int(truth(e > row[int(in[1].data[i])]))
					}
					r.data[i] = truth(above < 2)
				}
				return []nd{r}
			}})
	}
	return all
}
