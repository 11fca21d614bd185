package lower

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// lowerByIndices takes rows (or columns, ...) by number.
func lowerByIndices(s *site) (graph.Output, error) {
	x, axis := s.in[0], s.int("axis")
	idx := s.reshape(s.in[1], tensor.NumElements(sizes(s.in[1])))
	front := toFront(len(s.shape), axis)
	x = s.transpose(x, front...)
	shape := sizes(x)
	shape[0] = s.shape[axis]
	rows := s.add("GatherV2", like(x, shape...), graph.Attrs{"Tparams": x.DType(), "Tindices": idx.DType(), "Taxis": tensor.Int32, "batch_dims": int64(0)},
		x, idx, s.scalar("GatherV2/axis", tensor.Int32, 0))
	return s.transpose(rows, inverse(front)...), nil
}

// byIndicesGrad keeps the gradient of a table's rows sparse. The operands are the table, dL/dy and the indices.
func (l *lowering) byIndicesGrad(n *G.Node) (Value, error) {
	t, err := typeOf(n)
	if err != nil {
		return Value{}, err
	}
	s, err := l.site(n, t)
	if err != nil {
		return Value{}, err
	}
	// Gorgonia passes (table, indices, gradient) and names them differently inside.
	dy, idx := s.in[1], s.in[2]
	if !dy.DType().Float() {
		dy, idx = idx, dy
	}
	idx = s.reshape(idx, tensor.NumElements(sizes(idx)))
	axis := s.int("axis")
	if axis == 0 {
		return SparseValue(t.Shape, Slices{Rows: dy, Indices: idx}), nil
	}
	front := toFront(len(s.shape), axis)
	dy = s.transpose(dy, front...)
	shape := sizes(dy)
	shape[0] = s.shape[axis]
	sum := Densify(l.Builder, s.scope, SparseValue(graph.ShapeOf(shape...), Slices{Rows: dy, Indices: idx}))
	return Value{Output: s.transpose(sum, inverse(front)...)}, nil
}

// toFront is the permutation that moves an axis to the front.
func toFront(rank, axis int) []int {
	perm := []int{axis}
	for i := range rank {
		if i != axis {
			perm = append(perm, i)
		}
	}
	return perm
}

func inverse(perm []int) []int {
	out := slices.Clone(perm)
	for i, p := range perm {
		out[p] = i
	}
	return out
}
