package engine

import (
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
	for _, op := range []string{"Cumsum", "Cumprod"} {
		for _, reverse := range []bool{false, true} {
			all = append(all, &opCase{op: op, attrs: graph.Attrs{"reverse": reverse, "exclusive": !reverse}, tol: 8,
				in: []operand{feedOf("B,5,3"), ints2(1)}, out: []graph.Type{fl("B,5,3")}, ref: scanOf(op == "Cumprod", reverse)})
		}
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
