package engine

import (
	"math/rand/v2"
	"sort"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// raggedCases have 3B values: examples own none, or five, or one each.
func raggedCases() []*opCase {
	return append(raggedCasesOf("3B", func(i int) int { return i / 2 * 5 }), raggedCasesOf("B", func(i int) int { return i })...)
}

// raggedCasesOf have that many values, and the offset at which an example's values begin.
func raggedCasesOf(values string, offset func(example int) int) []*opCase {
	starts := operand{typ: graph.Type{DType: tensor.Int64, Shape: graph.Shape{Dims: []graph.Dim{{PerBatch: 1, Const: 1}}}},
		gen: func(_ *rand.Rand, i int) float64 { return float64(offset(i)) }}
	// owner is the example of value i, -1 for none.
	owner := func(offsets nd, i int) int {
		r := sort.Search(len(offsets.data), func(k int) bool { return offsets.data[k] > float64(i) }) - 1
		if r == len(offsets.data)-1 {
			return -1
		}
		return r
	}
	var all []*opCase
	for _, d := range []tensor.DType{tensor.Int32, tensor.Int64} {
		ids := operand{typ: ty(d, values), gen: func(r *rand.Rand, _ int) float64 { return float64(r.IntN(8) - 1) }}
		all = append(all, &opCase{op: "_RowNumbers", in: []operand{ids, starts}, out: []graph.Type{ty(tensor.Int32, values)}, ref: func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			for i := range r.data {
				if r.data[i] = float64(owner(in[1], i)); in[0].data[i] < 0 {
					r.data[i] = -1
				}
			}
			return []nd{r}
		}})
		for _, row := range []string{"", ",3", ",40"} {
			spread := &opCase{op: "_RaggedSpread", in: []operand{feedOf("B" + row), ids, starts}, out: []graph.Type{fl(values + row)}, ref: func(in []nd, out [][]int) []nd {
				r := newND(out[0])
				n := len(in[0].data) / in[0].shape[0]
				for i := range r.data {
					if k := owner(in[2], i/n); k >= 0 && in[1].data[i/n] >= 0 {
						r.data[i] = in[0].data[k*n+i%n]
					}
				}
				return []nd{r}
			}}
			all = append(all, spread)
			for _, gather := range []bool{false, true} {
				for _, weighted := range []bool{false, true} {
					rows := map[bool]string{true: "7", false: values}[gather] + row
					c := &opCase{op: "_RaggedCombine", attrs: graph.Attrs{"gather": gather}, in: []operand{feedOf(rows), ids, starts}, out: []graph.Type{fl("B" + row)}, tol: 10}
					if weighted {
						c.in = append(c.in, feedOf(values))
					}
					c.ref = func(in []nd, out [][]int) []nd {
						r := newND(out[0])
						n := len(r.data) / out[0][0]
						for i, id := range in[1].data {
							k, w, from := owner(in[2], i), 1.0, i
							if k < 0 || id < 0 {
								continue
							}
							if weighted {
								w = in[3].data[i]
							}
							if gather {
								from = int(id)
							}
							for j := range n {
								r.data[k*n+j] += w * in[0].data[from*n+j]
							}
						}
						return []nd{r}
					}
					all = append(all, c)
				}
			}
		}
	}
	all = append(all, sumByIndexCases(values)...)
	dense := &opCase{op: "RaggedTensorToTensor", attrs: graph.Attrs{"row_partition_types": [][]byte{[]byte("ROW_SPLITS")}},
		in: []operand{ints(-1, 4), feedOf(values), scalar(tensor.Float32, -7), starts}, out: []graph.Type{fl("B,4")}, ref: func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			for i := range r.data {
				if at := in[3].data[i/4] + float64(i%4); at < in[3].data[i/4+1] {
					r.data[i] = in[1].data[int(at)]
				} else {
					r.data[i] = -7
				}
			}
			return []nd{r}
		}}
	increasing := operand{typ: fl("B,5"), gen: func(_ *rand.Rand, i int) float64 { return float64(i % 5 / 2) }}
	bound := &opCase{op: "UpperBound", in: []operand{increasing, {typ: fl("B,3"), gen: func(r *rand.Rand, _ int) float64 { return float64(r.IntN(7))/2 - 1 }}},
		out: []graph.Type{ty(tensor.Int32, "B,3")}, ref: func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			for i, v := range in[1].data {
				for _, x := range in[0].data[i/3*5 : i/3*5+5] {
					r.data[i] += truth(x <= v)
				}
			}
			return []nd{r}
		}}
	return append(all, dense, bound)
}

// sumByIndexCases have rows of few indices, some of them negative, and of an index each.
func sumByIndexCases(values string) []*opCase {
	var all []*opCase
	for _, d := range []tensor.DType{tensor.Int32, tensor.Int64} {
		for _, row := range []string{"", ",3", ",40"} {
			for _, gen := range []func(*rand.Rand, int) float64{
				func(r *rand.Rand, _ int) float64 { return float64(r.IntN(8) - 1) },
				func(_ *rand.Rand, i int) float64 { return float64(i) },
				func(_ *rand.Rand, i int) float64 { return float64(6 - i%9) },
			} {
				all = append(all, &opCase{op: graph.SumByIndex, attrs: graph.Attrs{"rows": int64(4000)}, in: []operand{feedOf(values + row), {typ: ty(d, values), gen: gen}},
					out: []graph.Type{fl(values + row), ty(d, values)}, tol: 10, ref: sumByIndexRef})
			}
		}
	}
	return all
}

func sumByIndexRef(in []nd, out [][]int) []nd {
	rows, ids := newND(out[0]), newND(out[1])
	n := len(rows.data) / max(len(ids.data), 1)
	first := map[float64]int{}
	for i, id := range in[1].data {
		ids.data[i] = -1
		if id < 0 {
			continue
		}
		at, known := first[id]
		if !known {
			at, first[id], ids.data[i] = i, i, id
		}
		for j := range n {
			rows.data[at*n+j] += in[0].data[i*n+j]
		}
	}
	return []nd{rows, ids}
}
