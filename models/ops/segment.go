package ops

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// UnsortedSegmentSum sums the parts of x that have the same id in ids (int32 or int64):
// x [ids..., rest...] gives [segments, rest...]. Parts with a negative id are ignored. If
// an id is segments or more, the step fails. A segment without parts is 0.
//
// For sorted ids the result is that of tf.math.segment_sum, with rows of zeros after
// the last id, since the number of rows does not depend on the ids.
func UnsortedSegmentSum(c models.Context, x, ids *G.Node, segments int) *G.Node {
	const name = "UnsortedSegmentSum"
	if !readySegments(c, name, x, ids, segments) {
		return nil
	}
	return constantSegments(segments).sum(c, x, ids)
}

// UnsortedSegmentMean is UnsortedSegmentSum divided by the number of parts.
func UnsortedSegmentMean(c models.Context, x, ids *G.Node, segments int) *G.Node {
	n := segmentCounts(c, x, ids, segments)
	return Div(c, UnsortedSegmentSum(c, x, ids, segments), n)
}

// UnsortedSegmentSqrtN is UnsortedSegmentSum divided by the root of the number of parts.
func UnsortedSegmentSqrtN(c models.Context, x, ids *G.Node, segments int) *G.Node {
	n := Sqrt(c, segmentCounts(c, x, ids, segments))
	return Div(c, UnsortedSegmentSum(c, x, ids, segments), n)
}

// UnsortedSegmentMax is UnsortedSegmentSum with the largest elements instead of sums.
// A segment without parts is the lowest finite number. Equal largest elements share the
// gradient.
func UnsortedSegmentMax(c models.Context, x, ids *G.Node, segments int) *G.Node {
	return segmentExtreme(c, "UnsortedSegmentMax", x, ids, segments)
}

// UnsortedSegmentMin is UnsortedSegmentSum with the smallest elements instead of sums.
// A segment without parts is the highest finite number. Equal smallest elements share
// the gradient.
func UnsortedSegmentMin(c models.Context, x, ids *G.Node, segments int) *G.Node {
	return segmentExtreme(c, "UnsortedSegmentMin", x, ids, segments)
}

// UnsortedSegmentProd is UnsortedSegmentSum with products instead of sums. A segment
// without parts is 1.
func UnsortedSegmentProd(c models.Context, x, ids *G.Node, segments int) *G.Node {
	const name = "UnsortedSegmentProd"
	if !readySegments(c, name, x, ids, segments) {
		return nil
	}
	s := constantSegments(segments)
	return s.apply(c, name, x, ids, s.prodGrad)
}

func segmentExtreme(c models.Context, op string, x, ids *G.Node, segments int) *G.Node {
	if !readySegments(c, op, x, ids, segments) {
		return nil
	}
	s := constantSegments(segments)
	return s.apply(c, op, x, ids, s.extremeGrad)
}

// readySegments is ready for the operands of the segment functions.
func readySegments(c models.Context, op string, x, ids *G.Node, segments int) bool {
	if !ready(c, op, x, ids) || !isIDs(c, op, ids) {
		return false
	}
	k := len(ids.Shape())
	switch {
	case segments < 0:
		c.Core().Failf("%s: %d segments: expected 0 or more", op, segments)
	case k > len(x.Shape()) || !slices.Equal([]int(x.Shape()[:k]), []int(ids.Shape())):
		c.Core().Failf("%s: ids of shape %v for data of shape %v: expected the data's first dimensions", op, ids.Shape(), x.Shape())
	default:
		return true
	}
	return false
}

// segmentCounts returns the number of parts of each segment, at least 1, in a shape that broadcasts to the segments of x.
func segmentCounts(c models.Context, x, ids *G.Node, segments int) *G.Node {
	if !floats(c, "UnsortedSegmentMean", x) || !readySegments(c, "UnsortedSegmentMean", x, ids, segments) {
		return nil
	}
	one := OnesLike(c, Cast(c, ids, models.GraphType(x.Dtype())))
	n := Maximum(c, UnsortedSegmentSum(c, one, ids, segments), scalarLike(c, x, 1))
	shape := []int{segments}
	for range x.Shape()[len(ids.Shape()):] {
		shape = append(shape, 1)
	}
	return Reshape(c, n, shape...)
}

// segments is a number of segments: n while the graph is built. count emits it in the
// program, from the node of, which may be nil.
type segments struct {
	n     int
	of    *G.Node
	count func(e *emission, of graph.Output) graph.Output
}

// constantSegments returns n segments for every batch.
func constantSegments(n int) segments {
	return segments{n: n, count: func(e *emission, _ graph.Output) graph.Output { return e.constant(scalarInt("num_segments", n)) }}
}

// segmentsLike returns as many segments as dimension k of x has elements.
func segmentsLike(x *G.Node, k int) segments {
	return segments{n: x.Shape()[k], of: x, count: func(e *emission, of graph.Output) graph.Output { return e.sizeAt(of, k) }}
}

// apply makes the node of a segment op.
func (s segments) apply(c models.Context, op string, x, ids *G.Node, grad func(a *adjoint) *G.Node) *G.Node {
	if !ready(c, op, x, ids) {
		return nil
	}
	in, fixed := []*G.Node{x, ids}, []int(nil)
	if s.of != nil {
		in, fixed = append(in, s.of), []int{2}
	}
	out := slices.Concat([]int{s.n}, []int(x.Shape()[len(ids.Shape()):]))
	return apply(c, spec{op: op, outs: []kind{{x.Dtype(), out}}, fixed: fixed,
		attrs: with(typeAttr(x.Dtype()), "Tindices", models.GraphType(ids.Dtype()), "Tnumsegments", tensor.Int32),
		emit: func(e *emission) []graph.Output {
			var of graph.Output
			if len(e.in) > 2 {
				of = e.in[2]
			}
			return e.all(e.in[0], e.in[1], s.count(e, of))
		},
		grad: func(a *adjoint) []*G.Node {
			d := make([]*G.Node, len(in))
			d[0] = grad(a)
			return d
		}}, in...)
}

// sum sums the parts of x.
func (s segments) sum(c models.Context, x, ids *G.Node) *G.Node {
	return s.apply(c, "UnsortedSegmentSum", x, ids, func(a *adjoint) *G.Node { return fromSegments(a, a.grad, a.in[1]) })
}

// fromSegments returns for each part the row of its segment, or zeros for a part without one.
func fromSegments(c models.Context, rows, ids *G.Node) *G.Node {
	if !ready(c, "GatherV2", rows, ids) {
		return nil
	}
	out := slices.Concat([]int(ids.Shape()), []int(rows.Shape()[1:]))
	return apply(c, spec{op: "GatherV2", outs: []kind{{rows.Dtype(), out}}, emit: func(e *emission) []graph.Output {
		return []graph.Output{lower.GatherPadded(e.Builder, e.Name, e.in[0], e.in[1])}
	}}, rows, ids)
}

// extremeGrad shares the gradient between the elements that equal their segment's extreme.
func (s segments) extremeGrad(a *adjoint) *G.Node {
	x, ids := a.in[0], a.in[1]
	hit := Equal(a, x, fromSegments(a, a.out, ids))
	hits := s.sum(a, Cast(a, hit, models.GraphType(x.Dtype())), ids)
	return Where(a, hit, fromSegments(a, Div(a, a.grad, hits), ids), scalarLike(a, x, 0))
}

// prodGrad divides the product by each element that is not 0. A single 0 gets the product of the others; with two, the gradient is 0.
func (s segments) prodGrad(a *adjoint) *G.Node {
	x, ids := a.in[0], a.in[1]
	zero, one := scalarLike(a, x, 0), scalarLike(a, x, 1)
	isZero := Equal(a, x, zero)
	zeros := s.sum(a, Cast(a, isZero, models.GraphType(x.Dtype())), ids)
	g := Where(a, Greater(a, zeros, one), zero, a.grad)
	others := s.apply(a, "UnsortedSegmentProd", Where(a, isZero, one, x), ids, s.prodGrad)
	each := Where(a, isZero, fromSegments(a, others, ids), Div(a, fromSegments(a, a.out, ids), x))
	return Mul(a, fromSegments(a, g, ids), each)
}

// rowCount emits the number of rows that offsets describe.
func (e *emission) rowCount(offsets graph.Output) graph.Output {
	t := graph.Type{DType: tensor.Int32}
	n := e.Op("Size", e.Name+"/Size", t, graph.Attrs{"T": offsets.DType(), "out_type": tensor.Int32}, offsets)
	return e.Op("Sub", e.Name+"/num_segments", t, graph.Attrs{"T": tensor.Int32}, n, e.Scalar(e.Name+"/one", tensor.Int32, 1))
}

// rowsOfOffsets returns as many segments as offsets describe rows.
func rowsOfOffsets(offsets *G.Node) segments {
	return segments{n: offsets.Shape()[0] - 1, of: offsets, count: (*emission).rowCount}
}

// elementsOf returns as many segments as x has elements.
func elementsOf(x *G.Node) segments {
	return segments{n: elements(x.Shape()), of: x, count: func(e *emission, of graph.Output) graph.Output {
		return e.Op("Size", e.Name+"/Size", graph.Type{DType: tensor.Int32}, graph.Attrs{"T": of.DType(), "out_type": tensor.Int32}, of)
	}}
}

// places returns the indices 0, 1, ... of dimension k of x, as int32.
func places(c models.Context, x *G.Node, k int) *G.Node {
	if !ready(c, "Range", x) {
		return nil
	}
	return apply(c, spec{op: "Range", outs: []kind{{gtensor.Int32, []int{x.Shape()[k]}}}, attrs: graph.Attrs{"Tidx": tensor.Int32},
		emit: func(e *emission) []graph.Output {
			return e.all(e.Scalar(e.Name+"/start", tensor.Int32, 0), e.sizeAt(e.in[0], k), e.Scalar(e.Name+"/delta", tensor.Int32, 1))
		}}, x)
}
