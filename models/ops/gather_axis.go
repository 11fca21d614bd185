package ops

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// GatherAxis returns the parts of x at indices (int32 or int64, any shape) of one
// dimension: shape x[:along] + indices + x[along+1:]. The gradient is dense, unlike
// the gradient of Gather, for the first dimension.
func GatherAxis(c models.Context, x, indices *G.Node, along int) *G.Node {
	const name = "GatherV2"
	if !ready(c, name, x, indices) || !isIDs(c, name, indices) {
		return nil
	}
	s := []int(x.Shape())
	k, ok := axis(c, name, along, len(s))
	if !ok {
		return nil
	}
	return apply(c, spec{op: name, outs: []kind{{x.Dtype(), slices.Concat(s[:k], indices.Shape(), s[k+1:])}}, consts: []operand{scalarInt("axis", k)},
		attrs: graph.Attrs{"Tparams": models.GraphType(x.Dtype()), "Tindices": models.GraphType(indices.Dtype()), "Taxis": tensor.Int32, "batch_dims": int64(0)},
		grad:  func(a *adjoint) []*G.Node { return []*G.Node{ungather(a, k), nil} }}, x, indices)
}

// ungather moves dimension k to the front, and sums the gradient of gathered parts by
// index.
func ungather(a *adjoint, k int) *G.Node {
	x, ids := a.in[0], a.in[1]
	n, r := len(ids.Shape()), len(a.grad.Shape())
	var to, back []int
	for i := range n {
		to = append(to, k+i)
	}
	for i := range r {
		if i < k || i >= k+n {
			to = append(to, i)
		}
	}
	for i := range len(x.Shape()) {
		switch {
		case i < k:
			back = append(back, i+1)
		case i == k:
			back = append(back, 0)
		default:
			back = append(back, i)
		}
	}
	g := permuted(a, a.grad, to)
	if a.Failed() {
		return nil
	}
	sums := segmentsLike(x, k).sum(a, g, ids)
	return permuted(a, sums, back)
}

// permuted is Transpose, without an op for the identity.
func permuted(c models.Context, x *G.Node, perm []int) *G.Node {
	if slices.IsSorted(perm) {
		return x
	}
	return Transpose(c, x, perm...)
}

// sizeAt emits the size of dimension k of x, as an int32 scalar.
func (e *emission) sizeAt(x graph.Output, k int) graph.Output {
	shape := e.shapeOf(x)
	at := func(what string, v int) graph.Output { return e.constant(vector(what, v)) }
	return e.Op("StridedSlice", e.Name+"/size", graph.Type{DType: tensor.Int32},
		graph.Attrs{"T": tensor.Int32, "Index": tensor.Int32, "begin_mask": int64(0), "end_mask": int64(0), "ellipsis_mask": int64(0), "new_axis_mask": int64(0), "shrink_axis_mask": int64(1)},
		shape, at("size/begin", k), at("size/end", k+1), at("size/strides", 1))
}

// scatterLast returns a tensor like x [..., n] with g [..., k] added at the places
// cols [..., k] of the last dimension, and 0 elsewhere.
func scatterLast(c models.Context, g, cols, x *G.Node) *G.Node {
	if !ready(c, "UnsortedSegmentSum", g, cols, x) {
		return nil
	}
	flat := elementsOf(x).sum(c, Reshape(c, g, -1), Reshape(c, flatPlaces(c, cols, x), -1))
	return reshapeLike(c, flat, x)
}

// flatPlaces turns places in the last dimension of x into places among all elements of x.
func flatPlaces(c models.Context, cols, x *G.Node) *G.Node {
	s := []int(x.Shape())
	n := s[len(s)-1]
	rows := elements(s) / n
	d := models.GraphType(cols.Dtype())
	starts := apply(c, spec{op: "Range", outs: []kind{{cols.Dtype(), []int{rows}}}, attrs: graph.Attrs{"Tidx": d},
		emit: func(e *emission) []graph.Output {
			return e.all(e.Scalar(e.Name+"/start", d, 0), e.cast(e.count(e.in[0]), d), e.Scalar(e.Name+"/delta", d, float64(n)))
		}}, x)
	return Add(c, Reshape(c, cols, rows, -1), ExpandDims(c, starts, -1))
}
