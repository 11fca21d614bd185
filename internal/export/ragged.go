package export

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/export/columngraph"
	"github.com/goestimator/goestimator/tensor"
)

// listed adds nodes for the values and offsets, int64 [B+1], of a feature. For a
// dense feature, [B, longest], it leaves out padding.
func (e emitter) listed(name string, r columngraph.Raw) (values, offsets graph.Output) {
	if s := r.Sparse; s != nil {
		return s.Values, e.rowOffsets(name, s.Indices, s.DenseShape)
	}
	x := r.Dense
	indices := e.Op("Where", name+"/indices", ofRank(tensor.Int64, graph.Unknown, graph.Fixed(2)), graph.Attrs{"T": tensor.Bool}, e.there(name, x))
	values = e.Op("GatherNd", name+"/values", vector(x.DType()), graph.Attrs{"Tparams": x.DType(), "Tindices": tensor.Int64}, x, indices)
	size := e.Op("Shape", name+"/size", ofRank(tensor.Int64, graph.Fixed(2)), graph.Attrs{"T": x.DType(), "out_type": tensor.Int64}, x)
	return values, e.rowOffsets(name, indices, size)
}

// there adds a mask of the elements that are not padding: not -1, "" or NaN.
func (e emitter) there(name string, x graph.Output) graph.Output {
	boolean := graph.Type{DType: tensor.Bool, Shape: x.Shape()}
	notEqual := func(x, y graph.Output) graph.Output {
		return e.Op("NotEqual", name+"/there", boolean, graph.Attrs{"T": x.DType(), "incompatible_shape_error": true}, x, y)
	}
	switch d := x.DType(); {
	case d.Float():
		return e.Op("LogicalNot", name+"/there", boolean, nil, e.Op("IsNan", name+"/none", boolean, graph.Attrs{"T": d}, x))
	case d == tensor.String:
		return notEqual(x, e.text(name+"/none", ""))
	default:
		// As int64, so that no value of an unsigned type is -1.
		return notEqual(e.cast(name+"/wide", x, tensor.Int64), e.Scalar(name+"/none", tensor.Int64, -1))
	}
}

// rowOffsets adds the row offsets of a sparse tensor of the given shape, from its indices [n, 2]
// in row-major order.
func (e emitter) rowOffsets(name string, indices, shape graph.Output) graph.Output {
	bounds := ofRank(tensor.Int64, graph.Dim{PerBatch: 1, Const: 1})
	row := e.Op("StridedSlice", name+"/row", vector(tensor.Int64), sliceAttrs(1, 2),
		indices, e.ints(name+"/row/begin", 0, 0), e.ints(name+"/row/end", 0, 1), e.ints(name+"/row/strides", 1, 1))
	rows := e.Op("StridedSlice", name+"/rows", graph.Type{DType: tensor.Int64}, sliceAttrs(0, 1),
		shape, e.ints(name+"/rows/begin", 0), e.ints(name+"/rows/end", 1), e.ints(name+"/rows/strides", 1))
	one := e.Scalar(name+"/one", tensor.Int64, 1)
	end := e.Op("AddV2", name+"/end", graph.Type{DType: tensor.Int64}, graph.Attrs{"T": tensor.Int64}, rows, one)
	at := e.Op("Range", name+"/range", bounds, graph.Attrs{"Tidx": tensor.Int64}, e.Scalar(name+"/start", tensor.Int64, 0), end, one)
	lift := func(part string, v graph.Output, d graph.Dim) graph.Output {
		return e.Op("ExpandDims", name+"/"+part, ofRank(tensor.Int64, graph.Fixed(1), d), graph.Attrs{"T": tensor.Int64, "Tdim": tensor.Int32},
			v, e.Scalar(name+"/"+part+"/dim", tensor.Int32, 0))
	}
	below := e.Op("LowerBound", name+"/below", ofRank(tensor.Int64, graph.Fixed(1), bounds.Shape.Dims[0]), graph.Attrs{"T": tensor.Int64, "out_type": tensor.Int64},
		lift("sorted", row, graph.Unknown), lift("bounds", at, bounds.Shape.Dims[0]))
	return e.Op("Squeeze", name+"/offsets", bounds, graph.Attrs{"T": tensor.Int64, "squeeze_dims": []int64{0}}, below)
}

// sliceAttrs returns the attributes of an int64 StridedSlice that takes the dimensions in
// mask all completely, and one element of the dimensions in mask one.
func sliceAttrs(all, one int64) graph.Attrs {
	return graph.Attrs{"T": tensor.Int64, "Index": tensor.Int32, "begin_mask": all, "end_mask": all,
		"ellipsis_mask": int64(0), "new_axis_mask": int64(0), "shrink_axis_mask": one}
}

// atMost adds an Assert that no example has more values than the graph
// accepts, and returns the offsets after it.
func (e emitter) atMost(name string, offsets graph.Output, f Feed) graph.Output {
	ends, starts := lower.Ends(e.Builder, name, offsets)
	if !ends.Valid() {
		return offsets
	}
	room := f.Length * max(f.Width, 1)
	lengths := e.like("Sub", name+"/lengths", tensor.Int64, ends, starts)
	fits := e.like("LessEqual", name+"/fits", tensor.Bool, lengths, e.Scalar(name+"/room", tensor.Int64, float64(room)))
	all := e.Op("All", name+"/all", graph.Type{DType: tensor.Bool}, graph.Attrs{"Tidx": tensor.Int32, "keep_dims": false}, fits, e.ints(name+"/dims", 0))
	message := fmt.Sprintf("an example has more than %d values of %q: the model was exported for no longer ones", room, f.Column.Name)
	check := e.Node("Assert", name+"/check", nil, graph.Attrs{"T": []tensor.DType{tensor.String}, "summarize": int64(3)}, all, e.text(name+"/message", message))
	return e.identity(name+"/checked", offsets, check)
}
