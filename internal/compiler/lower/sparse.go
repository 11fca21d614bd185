package lower

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Dense returns v as one dense output: rows of a sparse gradient are summed into
// zeros by UnsortedSegmentSum. Scope, "" or ending in a slash, begins the names of new nodes.
func (l *lowering) Dense(scope string, v Value) graph.Output { return Densify(l.Builder, scope, v) }

// Densify returns v as one dense output, adding to b the UnsortedSegmentSum that
// sums the rows of a sparse value. Scope, "" or ending in a slash, begins the names of new nodes.
func Densify(b *graph.Builder, scope string, v Value) graph.Output {
	if v = Join(b, scope, v); !v.Sparse() {
		return v.Output
	}
	return densifyOne(b, scope, v.Slices[0], v.Dense)
}

func densifyOne(b *graph.Builder, scope string, s Slices, table graph.Shape) graph.Output {
	if b.Err() != nil || !s.Indices.Valid() {
		return s.Rows
	}
	if len(table.Dims) == 0 || !table.Dims[0].Static() {
		b.Fail(fmt.Errorf("sparse value %v of shape %v: expected a fixed number of rows", s.Rows, table))
		return graph.Output{}
	}
	d := s.Rows.DType()
	rows := b.Scalar(scope+"UnsortedSegmentSum/num_segments", tensor.Int32, float64(table.Dims[0].Const))
	return b.Op("UnsortedSegmentSum", scope+"UnsortedSegmentSum", graph.Type{DType: d, Shape: table},
		graph.Attrs{"T": d, "Tindices": s.Indices.DType(), "Tnumsegments": tensor.Int32}, s.Rows, s.Indices, rows)
}

// AddSparse returns the sum of two sparse values of one dense shape: the lookups of both.
func AddSparse(x, y Value) (Value, error) {
	if !x.Dense.Equal(y.Dense) || x.DType() != y.DType() {
		return Value{}, fmt.Errorf("sum of sparse %v %v and %v %v: expected equal types and shapes", x.DType(), x.Dense, y.DType(), y.Dense)
	}
	return SparseValue(x.Dense, slices.Concat(x.Slices, y.Slices)...), nil
}

// Join returns a value with the rows of all lookups concatenated into one or, if one
// lookup covers the whole table, their dense sum. Scope, "" or ending in a slash,
// begins the names of new nodes.
func Join(b *graph.Builder, scope string, v Value) Value {
	if b.Err() != nil || !v.Sparse() || len(v.Slices) == 1 && v.Slices[0].Indices.Valid() {
		return v
	}
	if slices.ContainsFunc(v.Slices, func(s Slices) bool { return !s.Indices.Valid() }) {
		sum := densifyOne(b, scope, v.Slices[0], v.Dense)
		for _, s := range v.Slices[1:] {
			sum = b.Op("AddV2", scope+"AddV2", v.Type(), graph.Attrs{"T": v.DType()}, sum, densifyOne(b, scope, s, v.Dense))
		}
		return Value{Output: sum}
	}
	d := v.Slices[0].Indices.DType()
	for _, s := range v.Slices {
		if s.Indices.DType() != d {
			d = tensor.Int64
		}
	}
	var rows, indices []graph.Output
	for _, s := range v.Slices {
		rows, indices = append(rows, s.Rows), append(indices, toType(b, scope, s.Indices, d))
	}
	return SparseValue(v.Dense, Slices{Rows: concatRows(b, scope+"rows", rows), Indices: concatRows(b, scope+"indices", indices)})
}

// SumByIndex returns slices with the sum of each index's rows at the index's first
// place, and the index -1 and zeros where it occurs again or was negative.
func SumByIndex(b *graph.Builder, name string, s Slices, table graph.Shape) Slices {
	if b.Err() != nil {
		return s
	}
	n := b.Node(graph.SumByIndex, name, []graph.Type{s.Rows.Type(), s.Indices.Type()},
		graph.Attrs{"T": s.Rows.DType(), "Tindices": s.Indices.DType(), "rows": int64(table.Dims[0].Const)}, s.Rows, s.Indices)
	if b.Err() != nil {
		return s
	}
	return Slices{Rows: n.Out(0), Indices: n.Out(1)}
}

func toType(b *graph.Builder, scope string, x graph.Output, d tensor.DType) graph.Output {
	if x.DType() == d {
		return x
	}
	return b.Op("Cast", scope+"Cast", graph.Type{DType: d, Shape: x.Shape()},
		graph.Attrs{"SrcT": x.DType(), "DstT": d, "Truncate": false}, x)
}

func concatRows(b *graph.Builder, name string, parts []graph.Output) graph.Output {
	d := parts[0].DType()
	shape := graph.Shape{Dims: slices.Clone(parts[0].Shape().Dims)}
	shape.Dims[0] = graph.Dim{}
	for _, p := range parts {
		n := p.Shape().Dims[0]
		shape.Dims[0].PerBatch, shape.Dims[0].Const = shape.Dims[0].PerBatch+n.PerBatch, shape.Dims[0].Const+n.Const
	}
	in := append(slices.Clone(parts), b.Scalar(name+"/axis", tensor.Int32, 0))
	return b.Op("ConcatV2", name, graph.Type{DType: d, Shape: shape},
		graph.Attrs{"T": d, "N": int64(len(parts)), "Tidx": tensor.Int32}, in...)
}
