package engine

import (
	"math"
	"math/rand/v2"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// nestedCases are parts of tensors by indices of several dimensions, and scans.
func nestedCases() []*opCase {
	var all []*opCase
	for _, d := range []tensor.DType{tensor.Int32, tensor.Int64} {
		all = append(all,
			&opCase{op: "GatherNd", in: []operand{feedOf("4,4,2"), intsOf(d, "B,2", 4)}, out: []graph.Type{fl("B,2")}, ref: func(in []nd, out [][]int) []nd {
				r := newND(out[0])
				for i := range r.data {
					row := in[1].data[i/2*2:]
					r.data[i] = in[0].data[(int(row[0])*4+int(row[1]))*2+i%2]
				}
				return []nd{r}
			}},
			&opCase{op: "ScatterNd", in: []operand{intsOf(d, "B,1", 5), feedOf("B,3"), {typ: ty(tensor.Int32, "2"), constant: true, values: []float64{5, 3}}}, out: []graph.Type{fl("5,3")}, tol: 2, ref: func(in []nd, out [][]int) []nd {
				r := newND(out[0])
				for i, e := range in[1].data {
					r.data[int(in[0].data[i/3])*3+i%3] += e
				}
				return []nd{r}
			}})
	}
	all = append(all, &opCase{op: "TensorScatterUpdate", in: []operand{feedOf("B,3"), {typ: ty(tensor.Int32, "2,1"), constant: true, values: []float64{0, 0}}, feedOf("2,3")}, out: []graph.Type{fl("B,3")},
		ref: func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			copy(r.data, in[0].data)
			copy(r.data[:3], in[2].data[3:])
			return []nd{r}
		}})
	for _, op := range []string{"Cumsum", "Cumprod"} {
		for _, reverse := range []bool{false, true} {
			all = append(all, &opCase{op: op, attrs: graph.Attrs{"reverse": reverse, "exclusive": !reverse}, tol: 8,
				in: []operand{feedOf("B,5,3"), ints2(1)}, out: []graph.Type{fl("B,5,3")}, ref: scanOf(op == "Cumprod", reverse)})
		}
	}
	return all
}

// squareCases are of matrices of two rows, whose results are known in closed form, and of random integers.
func squareCases() []*opCase {
	each := func(f func(a, b, c, d float64) [4]float64) func(in []nd, out [][]int) []nd {
		return func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			for i := 0; i < len(r.data); i += 4 {
				m := in[0].data[i:]
				v := f(m[0], m[1], m[2], m[3])
				copy(r.data[i:], v[:])
			}
			return []nd{r}
		}
	}
	wide := func(s string) operand { // of a large diagonal
		return operand{typ: fl(s), gen: func(r *rand.Rand, i int) float64 { return r.Float64() + 3*truth(i%4 == 0 || i%4 == 3) }}
	}
	var all []*opCase
	for _, d := range []tensor.DType{tensor.Int32, tensor.Int64} { // the only integer of a range; TestRandomInts sees more
		all = append(all, &opCase{op: "StatelessRandomUniformIntV2", in: []operand{ints(-1, 3), intsOf(tensor.Uint64, "1", 9), intsOf(tensor.Uint64, "2", 9), ints2(1), scalar(d, 5), scalar(d, 6)},
			out: []graph.Type{ty(d, "B,3")}, ref: func(in []nd, out [][]int) []nd {
				r := newND(out[0])
				for i := range r.data {
					r.data[i] = 5
				}
				return []nd{r}
			}})
	}
	for _, s := range []string{"B,2,2", "3,B,2,2", "2,2"} {
		all = append(all,
			&opCase{op: "Cholesky", in: []operand{wide(s)}, out: []graph.Type{fl(s)}, tol: 8, ref: each(func(a, _, c, d float64) [4]float64 {
				l := math.Sqrt(a)
				return [4]float64{l, 0, c / l, math.Sqrt(d - c*c/a)}
			})},
			&opCase{op: "MatrixInverse", in: []operand{wide(s)}, out: []graph.Type{fl(s)}, tol: 8, ref: each(func(a, b, c, d float64) [4]float64 {
				by := a*d - b*c
				return [4]float64{d / by, -b / by, -c / by, a / by}
			})},
			&opCase{op: "MatrixInverse", attrs: graph.Attrs{"adjoint": true}, in: []operand{wide(s)}, out: []graph.Type{fl(s)}, tol: 8, ref: each(func(a, b, c, d float64) [4]float64 {
				by := a*d - b*c
				return [4]float64{d / by, -c / by, -b / by, a / by}
			})})
	}
	return all
}

// scanOf goes along the five elements of dimension 1: backwards with each element, or forwards without it.
func scanOf(times, reverse bool) func(in []nd, out [][]int) []nd {
	return func(in []nd, out [][]int) []nd {
		r := newND(out[0])
		for i := range r.data {
			at, first := i/3%5, i-i/3%5*3
			from, to := 0, at
			if reverse {
				from, to = at, 5
			}
			acc := 0.0
			if times {
				acc = 1
			}
			for k := from; k < to; k++ {
				if e := in[0].data[first+k*3]; times {
					acc *= e
				} else {
					acc += e
				}
			}
			r.data[i] = acc
		}
		return []nd{r}
	}
}
