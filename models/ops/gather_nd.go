package ops

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// GatherNd returns the parts of x at indices [..., depth] (int32 or int64) into the
// first depth dimensions: shape indices[:-1] + x[depth:].
func GatherNd(c models.Context, x, indices *G.Node) *G.Node {
	const name = "GatherNd"
	depth, ok := depthOf(c, name, indices, x)
	if !ok {
		return nil
	}
	lead := indices.Shape()[:len(indices.Shape())-1]
	return apply(c, spec{op: name, outs: []kind{{x.Dtype(), slices.Concat([]int(lead), []int(x.Shape()[depth:]))}},
		attrs: graph.Attrs{"Tparams": models.GraphType(x.Dtype()), "Tindices": models.GraphType(indices.Dtype())},
		grad:  func(a *adjoint) []*G.Node { return []*G.Node{ScatterNd(a, a.in[1], a.grad, a.in[0]), nil} }}, x, indices)
}

// ScatterNd returns zeros of like's shape to which each part of updates is added, at
// the place given by indices [..., depth] (int32 or int64) into the first depth
// dimensions. updates have the shape indices[:-1] + like[depth:]. No gradient flows to like.
func ScatterNd(c models.Context, indices, updates, like *G.Node) *G.Node {
	const name = "ScatterNd"
	if !fitParts(c, name, indices, updates, like) {
		return nil
	}
	ids := models.GraphType(indices.Dtype())
	return apply(c, spec{op: name, outs: []kind{kindOf(like)}, fixed: []int{2}, attrs: with(typeAttr(like.Dtype()), "Tindices", ids),
		emit: func(e *emission) []graph.Output { return e.all(e.in[0], e.in[1], e.cast(e.shapeOf(e.in[2]), ids)) },
		grad: func(a *adjoint) []*G.Node { return []*G.Node{nil, GatherNd(a, a.grad, a.in[0]), nil} }}, indices, updates, like)
}

// TensorScatterUpdate returns x with parts replaced by updates, at the places given by
// indices [..., depth] (int32 or int64) into the first depth dimensions. updates have the
// shape indices[:-1] + x[depth:]. If several updates have the same place, the last one wins. No
// gradient flows to replaced parts of x; each update gets the gradient of its place, as in TensorFlow.
func TensorScatterUpdate(c models.Context, x, indices, updates *G.Node) *G.Node {
	const name = "TensorScatterUpdate"
	if !fitParts(c, name, indices, updates, x) {
		return nil
	}
	ids := models.GraphType(indices.Dtype())
	return apply(c, spec{op: name, outs: []kind{kindOf(x)}, attrs: with(typeAttr(x.Dtype()), "Tindices", ids),
		grad: func(a *adjoint) []*G.Node {
			return []*G.Node{TensorScatterUpdate(a, a.grad, a.in[1], ZerosLike(a, a.in[2])), nil, GatherNd(a, a.grad, a.in[1])}
		}}, x, indices, updates)
}

// TensorScatterAdd is TensorScatterUpdate, but adds updates to x. All updates of the same
// place are added.
func TensorScatterAdd(c models.Context, x, indices, updates *G.Node) *G.Node {
	return Add(c, x, ScatterNd(c, indices, updates, x))
}

// depthOf checks indices of parts of x and returns the number of dimensions that they index.
func depthOf(c models.Context, op string, indices, x *G.Node) (int, bool) {
	if !ready(c, op, indices, x) || !isIDs(c, op, indices) {
		return 0, false
	}
	s := indices.Shape()
	if len(s) == 0 || s[len(s)-1] < 1 || s[len(s)-1] > len(x.Shape()) {
		c.Core().Failf("%s: indices of shape %v for a tensor of shape %v: expected [..., 1..%d]", op, s, x.Shape(), len(x.Shape()))
		return 0, false
	}
	return s[len(s)-1], true
}

// fitParts reports whether updates are parts of x at indices.
func fitParts(c models.Context, op string, indices, updates, x *G.Node) bool {
	depth, ok := depthOf(c, op, indices, x)
	if !ok || !sameType(c, op, updates, x) {
		return false
	}
	want := slices.Concat([]int(indices.Shape()[:len(indices.Shape())-1]), []int(x.Shape()[depth:]))
	if !slices.Equal(want, []int(updates.Shape())) {
		c.Core().Failf("%s: updates have shape %v: expected %v", op, updates.Shape(), want)
		return false
	}
	return true
}
