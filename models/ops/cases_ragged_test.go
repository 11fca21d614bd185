package ops_test

import (
	"math"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// raggedCapacity is the number of values per row of a batch that ragged operands can hold.
const raggedCapacity = 4

// raggedStarts are the offsets of a batch: all examples have different lengths.
func raggedStarts(rows int) []float64 {
	if rows == 1 {
		return []float64{0, 3}
	}
	return []float64{0, 2, 2, 7}
}

func offsetsOperand() operand {
	return operand{shape: []int{offsetsDim}, dtype: tensor.Int64, draw: raggedStarts}
}

// raggedOperand holds f of the index of each value, and pad after the last.
func raggedOperand(d tensor.DType, pad float64, f func(i int) float64) operand {
	return operand{shape: []int{raggedDim}, dtype: d, fixed: true, draw: func(rows int) []float64 {
		starts := raggedStarts(rows)
		out := make([]float64, raggedCapacity*rows)
		for i := range out {
			if out[i] = pad; i < int(starts[rows]) {
				out[i] = f(i)
			}
		}
		return out
	}}
}

// someIDs has one row twice, and a negative id.
func someIDs(i int) float64 { return []float64{3, 0, -1, 3, 3, 1, 0}[i] }

// someWeights has weights that are not positive.
func someWeights(i int) float64 { return []float64{0.5, 2, 1, 0, 1.5, -1, 0.25}[i] }

func raggedOf(in []*G.Node, weights bool) *models.Ragged {
	r := &models.Ragged{Values: in[1], Offsets: in[2]}
	if weights {
		r.Weights = in[3]
	}
	return r
}

func raggedCases() []opCase {
	ids := raggedOperand(tensor.Int64, -1, someIDs)
	steps := raggedOperand(tensor.Invalid, 0, func(i int) float64 { return float64(i) + 0.5 })
	var out []opCase
	for _, combiner := range []string{"mean", "sqrtn", "sum"} {
		for _, weights := range []bool{false, true} {
			for _, norm := range []float64{0, 1.5} {
				for _, table := range []operand{param(5, 3), param(5, 20), param(5, 1), param(5)} {
					c := opCase{fn: "LookupSparse", detail: combiner, in: []operand{table, ids, offsetsOperand()}, ours: true, tolerance: 5e-5,
						build: func(c models.Context, in []*G.Node) *G.Node {
							return ops.LookupSparse(c, in[0], raggedOf(in, weights), combiner, norm)
						},
						ref: func(in []*array) *array { return combined(in, weights, combiner, norm) }}
					if weights {
						c.in = append(c.in, raggedOperand(tensor.Invalid, 0, someWeights))
						c.detail += " weighted"
					}
					if norm > 0 {
						c.detail += " max norm"
					}
					out = append(out, c)
				}
			}
		}
	}
	pad := func(in []*array) []float64 { return in[0].data }
	return append(out,
		opCase{fn: "Lookup", in: []operand{param(5, 2), {shape: []int{-1, 3}, lo: -2, hi: 5, dtype: tensor.Int64}}, ours: true,
			build: second(ops.Lookup),
			ref: func(in []*array) *array {
				return fill(append(in[1].shape[:2:2], 2), func(at []int) float64 {
					id := in[1].data[at[0]*3+at[1]]
					if id < 0 {
						return 0
					}
					return in[0].data[int(id)*2+at[2]]
				})
			}},
		opCase{fn: "RaggedToDense", in: []operand{ids, offsetsOperand()}, noGrad: true,
			build: func(c models.Context, in []*G.Node) *G.Node {
				return ops.RaggedToDense(c, &models.Ragged{Values: in[0], Offsets: in[1]}, 4)
			},
			ref: func(in []*array) *array { return padded(pad(in), in[1].data, 4, 1, -1) }},
		opCase{fn: "RaggedToDense", detail: "steps of two numbers", in: []operand{steps, {shape: []int{offsetsDim}, dtype: tensor.Int64, draw: evenStarts}}, noGrad: true,
			build: func(c models.Context, in []*G.Node) *G.Node {
				return ops.RaggedToDense(c, (&models.Ragged{Values: in[0], Offsets: in[1]}).Steps(2), 3)
			},
			ref: func(in []*array) *array { return padded(pad(in), in[1].data, 3, 2, 0) }},
		opCase{fn: "RaggedToDense", detail: "bytes", in: []operand{raggedOperand(tensor.Uint8, 0, func(i int) float64 { return float64(250 + i%5) }), offsetsOperand()}, noGrad: true,
			build: func(c models.Context, in []*G.Node) *G.Node {
				return ops.RaggedToDense(c, &models.Ragged{Values: in[0], Offsets: in[1]}, 2)
			},
			ref: func(in []*array) *array { return padded(pad(in), in[1].data, 2, 1, 0) }},
		opCase{fn: "SequenceLengths", in: []operand{offsetsOperand(), ids}, noGrad: true,
			build: func(c models.Context, in []*G.Node) *G.Node {
				return ops.SequenceLengths(c, &models.Ragged{Values: in[1], Offsets: in[0]})
			},
			ref: func(in []*array) *array {
				return fill([]int{len(in[0].data) - 1}, func(at []int) float64 { return in[0].data[at[0]+1] - in[0].data[at[0]] })
			}},
		opCase{fn: "SequenceLengths", detail: "steps of two numbers", in: []operand{{shape: []int{offsetsDim}, dtype: tensor.Int64, draw: evenStarts}, steps}, noGrad: true,
			build: func(c models.Context, in []*G.Node) *G.Node {
				return ops.SequenceLengths(c, (&models.Ragged{Values: in[1], Offsets: in[0]}).Steps(2))
			},
			ref: func(in []*array) *array {
				return fill([]int{len(in[0].data) - 1}, func(at []int) float64 { return (in[0].data[at[0]+1] - in[0].data[at[0]]) / 2 })
			}},
	)
}

func evenStarts(rows int) []float64 {
	if rows == 1 {
		return []float64{0, 2}
	}
	return []float64{0, 2, 2, 6}
}

// padded returns [rows, steps, width], or [rows, steps] for width 1.
func padded(values, starts []float64, steps, width int, pad float64) *array {
	shape := []int{len(starts) - 1, steps, width}
	if width == 1 {
		shape = shape[:2]
	}
	return fill(shape, func(at []int) float64 {
		k := int(starts[at[0]]) + at[1]*width
		if width > 1 {
			k += at[2]
		}
		if k >= int(starts[at[0]+1]) {
			return pad
		}
		return values[k]
	})
}

// combined is safe_embedding_lookup_sparse by its definition, example by example.
func combined(in []*array, weighted bool, combiner string, norm float64) *array {
	table, ids, starts := in[0], in[1].data, in[2].data
	width := len(table.data) / table.shape[0]
	return fill(append([]int{len(starts) - 1}, table.shape[1:]...), func(at []int) float64 {
		col := 0
		if len(at) > 1 {
			col = at[1]
		}
		sum, by, squares := 0.0, 0.0, 0.0
		for i := int(starts[at[0]]); i < int(starts[at[0]+1]); i++ {
			w := 1.0
			if weighted {
				w = in[3].data[i]
			}
			if ids[i] < 0 || w <= 0 && combiner != "sum" {
				continue
			}
			row := table.data[int(ids[i])*width:][:width]
			scale := 1.0
			if norm > 0 {
				length := 0.0
				for _, x := range row {
					length += x * x
				}
				scale = norm / math.Max(norm, math.Sqrt(length))
			}
			sum, by, squares = sum+w*scale*row[col], by+w, squares+w*w
		}
		switch {
		case by == 0 && combiner != "sum":
			return 0
		case combiner == "mean":
			return sum / by
		case combiner == "sqrtn":
			return sum / math.Sqrt(squares)
		}
		return sum
	})
}
