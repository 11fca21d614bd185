package ops_test

import (
	"math"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// attended is softmax(q·kᵀ/√depth)·v by its definition; a fourth array is the mask.
func attended(causal bool) func(in []*array) *array {
	return func(in []*array) *array {
		q, k, v := in[0], in[1], in[2]
		each := q.shape[2] / k.shape[2]
		weight := func(b, i, h, j int) float64 {
			if causal && j > i || len(in) > 3 && in[3].bcast([]int{b, h, i, j}) == 0 {
				return 0
			}
			s := 0.0
			for d := range q.shape[3] {
				s += q.at(b, i, h, d) * k.at(b, j, h/each, d)
			}
			return math.Exp(s / math.Sqrt(float64(q.shape[3])))
		}
		return fill([]int{q.shape[0], q.shape[1], q.shape[2], v.shape[3]}, func(at []int) float64 {
			sum, total := 0.0, 0.0
			for j := range k.shape[1] {
				w := weight(at[0], at[1], at[2], j)
				sum, total = sum+w*v.at(at[0], j, at[2]/each, at[3]), total+w
			}
			if total == 0 {
				return 0
			}
			return sum / total
		})
	}
}

func attentionCases() []opCase {
	q := func() operand { return batch(4, 2, 3) }
	attend := func(o ops.Attending) buildFunc {
		return func(c models.Context, in []*G.Node) *G.Node {
			if len(in) > 3 {
				o.Mask = in[3]
			}
			y := ops.Attention(c, in[0], in[1], in[2], o)
			return ops.Identity(c, y) // exports have other ops in its place
		}
	}
	mask := func(dims ...int) operand { return batch(dims...).in(0, 2).of(tensor.Bool) }
	return []opCase{
		{fn: "Attention", in: []operand{q(), batch(5, 2, 3), batch(5, 2, 2)}, build: attend(ops.Attending{}), ref: attended(false), tolerance: 1e-4},
		{fn: "Attention", detail: "causal", in: []operand{q(), batch(4, 2, 3), batch(4, 2, 3)}, build: attend(ops.Attending{Causal: true}), ref: attended(true), tolerance: 1e-4},
		{fn: "Attention", detail: "padding", in: []operand{q(), batch(4, 2, 3), batch(4, 2, 3), mask(1, 1, 4)}, build: attend(ops.Attending{Causal: true}), ref: attended(true), tolerance: 1e-4},
		{fn: "Attention", detail: "mask of each head", in: []operand{q(), batch(5, 2, 3), batch(5, 2, 3), mask(2, 4, 5)}, build: attend(ops.Attending{}), ref: attended(false), tolerance: 1e-4},
		{fn: "Attention", detail: "grouped", in: []operand{batch(4, 4, 3), batch(5, 2, 3), batch(5, 2, 2)}, build: attend(ops.Attending{}), ref: attended(false), tolerance: 1e-4},
		{fn: "Attention", detail: "multi-query", in: []operand{batch(4, 3, 2), batch(3, 1, 2), batch(3, 1, 2)}, build: attend(ops.Attending{Causal: true}), ref: attended(true), tolerance: 1e-4},
	}
}
