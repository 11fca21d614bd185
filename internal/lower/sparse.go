package lower

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/graph"
)

// Dense returns v as one dense output: rows of a sparse gradient are summed into
// zeros by UnsortedSegmentSum. Scope, "" or ending in a slash, begins the names of new nodes.
func (l *lowering) Dense(scope string, v Value) graph.Output {
	if !v.Sparse() {
		return v.Output
	}
	return Densify(l.Builder, scope, v)
}

// Densify returns v as one dense output, adding to b the UnsortedSegmentSum that
// sums the rows of a sparse value. Scope, "" or ending in a slash, begins the names of new nodes.
func Densify(b *graph.Builder, scope string, v Value) graph.Output {
	if !v.Sparse() {
		return v.Output
	}
	if len(v.Dense.Dims) == 0 || !v.Dense.Dims[0].Static() {
		b.Fail(fmt.Errorf("sparse value %v of shape %v: expected a fixed number of rows", v.Output, v.Dense))
		return graph.Output{}
	}
	rows := b.Scalar(scope+"UnsortedSegmentSum/num_segments", graph.Int32, float64(v.Dense.Dims[0].Const))
	return b.Op("UnsortedSegmentSum", scope+"UnsortedSegmentSum", graph.Type{DType: v.DType(), Shape: v.Dense},
		graph.Attrs{"T": v.DType(), "Tindices": v.Indices.DType(), "Tnumsegments": graph.Int32}, v.Output, v.Indices, rows)
}

// AddSparse returns the sum of two sparse values of one dense shape: the rows of both, one after the other.
func AddSparse(b *graph.Builder, scope string, x, y Value) (Value, error) {
	if !x.Dense.Equal(y.Dense) || x.DType() != y.DType() {
		return Value{}, fmt.Errorf("sum of sparse %v %v and %v %v: expected equal types and shapes", x.DType(), x.Dense, y.DType(), y.Dense)
	}
	xi, yi := x.Indices, y.Indices
	if xi.DType() != yi.DType() {
		xi, yi = toInt64(b, scope, xi), toInt64(b, scope, yi)
	}
	return Value{Output: concatRows(b, scope+"rows", x.Output, y.Output),
		Indices: concatRows(b, scope+"indices", xi, yi), Dense: x.Dense}, nil
}

func toInt64(b *graph.Builder, scope string, x graph.Output) graph.Output {
	if x.DType() == graph.Int64 {
		return x
	}
	return b.Op("Cast", scope+"Cast", graph.Type{DType: graph.Int64, Shape: x.Shape()},
		graph.Attrs{"SrcT": x.DType(), "DstT": graph.Int64, "Truncate": false}, x)
}

func concatRows(b *graph.Builder, name string, x, y graph.Output) graph.Output {
	shape := graph.Shape{Dims: append([]graph.Dim(nil), x.Shape().Dims...)}
	dx, dy := x.Shape().Dims[0], y.Shape().Dims[0]
	shape.Dims[0] = graph.Dim{PerBatch: dx.PerBatch + dy.PerBatch, Const: dx.Const + dy.Const}
	axis := b.Scalar(name+"/axis", graph.Int32, 0)
	return b.Op("ConcatV2", name, graph.Type{DType: x.DType(), Shape: shape},
		graph.Attrs{"T": x.DType(), "N": int64(2), "Tidx": graph.Int32}, x, y, axis)
}
