package columngraph

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// vector is a shape with one unknown dimension.
var vector = graph.Shape{Dims: []graph.Dim{graph.Unknown}}

// op adds an operation with one output.
func (e *emitter) op(op, name string, out graph.Type, attrs graph.Attrs, in ...graph.Output) graph.Output {
	return e.b.Op(op, e.scope+name, out, attrs, in...)
}

// ints adds a constant of integers, of rank 0 if shape is empty.
func (e *emitter) ints(name string, d tensor.DType, values []int64, shape ...int) graph.Output {
	var t *tensor.Tensor
	var err error
	if d == tensor.Int32 {
		narrow := make([]int32, len(values))
		for i, v := range values {
			narrow[i] = int32(v)
		}
		t, err = tensor.FromSlice(narrow, shape...)
	} else {
		t, err = tensor.FromSlice(values, shape...)
	}
	return e.constant(name, t, err)
}

func (e *emitter) floats(name string, values []float32, shape ...int) graph.Output {
	t, err := tensor.FromSlice(values, shape...)
	return e.constant(name, t, err)
}

func (e *emitter) texts(name string, values [][]byte, shape ...int) graph.Output {
	t, err := tensor.FromStrings(values, shape...)
	return e.constant(name, t, err)
}

func (e *emitter) constant(name string, t *tensor.Tensor, err error) graph.Output {
	if err != nil {
		e.b.Fail(err)
		return graph.Output{}
	}
	return e.b.Const(e.scope+name, t)
}

// scalar adds a constant of rank 0.
func (e *emitter) scalar(name string, v int64) graph.Output {
	return e.ints(name, tensor.Int64, []int64{v})
}

// axis adds a constant that names a dimension.
func (e *emitter) axis(name string, v int64) graph.Output {
	return e.ints(name, tensor.Int32, []int64{v})
}

func (e *emitter) cast(name string, x graph.Output, to tensor.DType) graph.Output {
	if x.DType() == to {
		return x
	}
	return e.op("Cast", name, graph.Type{DType: to, Shape: x.Shape()},
		graph.Attrs{"SrcT": x.DType(), "DstT": to, "Truncate": false}, x)
}

// binary adds an arithmetic operation whose result has x's shape.
func (e *emitter) binary(op, name string, x, y graph.Output) graph.Output {
	return e.op(op, name, x.Type(), graph.Attrs{"T": x.DType()}, x, y)
}

// compare adds a comparison whose result has x's shape.
func (e *emitter) compare(op, name string, x, y graph.Output) graph.Output {
	attrs := graph.Attrs{"T": x.DType()}
	if op == "Equal" || op == "NotEqual" {
		attrs["incompatible_shape_error"] = true
	}
	return e.op(op, name, graph.Type{DType: tensor.Bool, Shape: x.Shape()}, attrs, x, y)
}

func (e *emitter) selected(name string, cond, x, y graph.Output) graph.Output {
	return e.op("SelectV2", name, graph.Type{DType: x.DType(), Shape: cond.Shape()}, graph.Attrs{"T": x.DType()}, cond, x, y)
}

func (e *emitter) reshape(name string, x graph.Output, to graph.Shape, dims ...int64) graph.Output {
	shape := e.ints(name+"/shape", tensor.Int32, dims, len(dims))
	return e.op("Reshape", name, graph.Type{DType: x.DType(), Shape: to}, graph.Attrs{"T": x.DType(), "Tshape": tensor.Int32}, x, shape)
}

func (e *emitter) expand(name string, x graph.Output, axis int64, to graph.Shape) graph.Output {
	return e.op("ExpandDims", name, graph.Type{DType: x.DType(), Shape: to},
		graph.Attrs{"T": x.DType(), "Tdim": tensor.Int32}, x, e.axis(name+"/dim", axis))
}

// shapeOf adds the shape of x, int64 [rank].
func (e *emitter) shapeOf(name string, x graph.Output) graph.Output {
	return e.op("Shape", name, graph.Type{DType: tensor.Int64, Shape: graph.ShapeOf(x.Shape().Rank())},
		graph.Attrs{"T": x.DType(), "out_type": tensor.Int64}, x)
}

// element adds element i of a vector, of rank 0.
func (e *emitter) element(name string, x graph.Output, i int64) graph.Output {
	return e.strided(name, x, graph.Shape{}, slicing{begin: []int64{i}, end: []int64{i + 1}, shrink: 1})
}

// column adds column i of a matrix.
func (e *emitter) column(name string, x graph.Output, i int64) graph.Output {
	return e.strided(name, x, graph.Shape{Dims: x.Shape().Dims[:1]},
		slicing{begin: []int64{0, i}, end: []int64{0, i + 1}, fromStart: 1, toEnd: 1, shrink: 2})
}

// slicing describes a StridedSlice: masks have one bit per dimension.
type slicing struct {
	begin, end       []int64
	fromStart, toEnd int64 // ignore begin, end
	shrink           int64 // take a single element of the dimension
}

func (e *emitter) strided(name string, x graph.Output, to graph.Shape, s slicing) graph.Output {
	steps := make([]int64, len(s.begin))
	for i := range steps {
		steps[i] = 1
	}
	attrs := graph.Attrs{"T": x.DType(), "Index": tensor.Int32, "begin_mask": s.fromStart, "end_mask": s.toEnd,
		"shrink_axis_mask": s.shrink, "ellipsis_mask": int64(0), "new_axis_mask": int64(0)}
	return e.op("StridedSlice", name, graph.Type{DType: x.DType(), Shape: to}, attrs, x,
		e.ints(name+"/begin", tensor.Int32, s.begin, len(s.begin)), e.ints(name+"/end", tensor.Int32, s.end, len(s.end)),
		e.ints(name+"/strides", tensor.Int32, steps, len(steps)))
}

// where lists the positions of true elements in a mask [B, n], int64 [m, 2], or in a vector, [m, 1].
func (e *emitter) where(name string, mask graph.Output) graph.Output {
	shape := graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(mask.Shape().Rank())}}
	return e.op("Where", name, graph.Type{DType: tensor.Int64, Shape: shape}, graph.Attrs{"T": tensor.Bool}, mask)
}

// gather takes elements along dimension 0 of x, at a vector of positions.
func (e *emitter) gather(name string, x, at graph.Output) graph.Output {
	shape := graph.Shape{Dims: append([]graph.Dim{at.Shape().Dims[0]}, x.Shape().Dims[1:]...)}
	attrs := graph.Attrs{"Tparams": x.DType(), "Tindices": at.DType(), "Taxis": tensor.Int32, "batch_dims": int64(0)}
	return e.op("GatherV2", name, graph.Type{DType: x.DType(), Shape: shape}, attrs, x, at, e.axis(name+"/axis", 0))
}

// gatherAt takes elements of a matrix at a list of positions.
func (e *emitter) gatherAt(name string, x, indices graph.Output) graph.Output {
	return e.op("GatherNd", name, graph.Type{DType: x.DType(), Shape: graph.Shape{Dims: indices.Shape().Dims[:1]}},
		graph.Attrs{"Tparams": x.DType(), "Tindices": indices.DType()}, x, indices)
}

// span counts from 0 to n-1; n has rank 0.
func (e *emitter) span(name string, n graph.Output, length graph.Dim) graph.Output {
	return e.op("Range", name, graph.Type{DType: n.DType(), Shape: graph.Shape{Dims: []graph.Dim{length}}}, graph.Attrs{"Tidx": n.DType()},
		e.ints(name+"/start", n.DType(), []int64{0}), n, e.ints(name+"/delta", n.DType(), []int64{1}))
}
