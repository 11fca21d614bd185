package lower

import (
	"reflect"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// site is one built-in op being lowered: its fields (read only: Gorgonia does
// not export its op types), its dense operands and helpers that add nodes.
type site struct {
	l     *lowering
	node  *G.Node
	op    G.Op
	v     reflect.Value // the op's struct
	in    []graph.Output
	out   graph.Type
	shape []int // of out
	scope string
}

func (s *site) int(field string) int   { return int(s.v.FieldByName(field).Int()) }
func (s *site) bool(field string) bool { return s.v.FieldByName(field).Bool() }

func (s *site) ints(field string) []int {
	f := s.v.FieldByName(field)
	out := make([]int, f.Len())
	for i := range out {
		out[i] = int(f.Index(i).Int())
	}
	return out
}

// add adds a node with one output.
func (s *site) add(op string, t graph.Type, attrs graph.Attrs, in ...graph.Output) graph.Output {
	return s.l.Op(op, s.scope+op, t, attrs, in...)
}

// like returns x's element type with another fixed shape.
func like(x graph.Output, shape ...int) graph.Type {
	return graph.Type{DType: x.DType(), Shape: graph.ShapeOf(shape...)}
}

// unary adds an elementwise op.
func (s *site) unary(op string, x graph.Output) graph.Output {
	return s.add(op, x.Type(), graph.Attrs{"T": x.DType()}, x)
}

// binary adds a broadcasting elementwise op; the operands must broadcast.
func (s *site) binary(op string, x, y graph.Output) graph.Output {
	shape, _ := broadcast(sizes(x), sizes(y))
	return s.add(op, like(x, shape...), graph.Attrs{"T": x.DType()}, x, y)
}

// vector adds an int32 constant.
func (s *site) vector(name string, v ...int) graph.Output {
	data := make([]int32, len(v))
	for i, n := range v {
		data[i] = int32(n)
	}
	t, _ := tensor.FromSlice(data, len(data))
	return s.l.Const(s.scope+name, t)
}

func (s *site) scalar(name string, d tensor.DType, v float64) graph.Output {
	return s.l.Scalar(s.scope+name, d, v)
}

// reshape gives x another shape with as many elements.
func (s *site) reshape(x graph.Output, to ...int) graph.Output {
	if slices.Equal(sizes(x), to) {
		return x
	}
	return s.add("Reshape", like(x, to...), graph.Attrs{"T": x.DType(), "Tshape": tensor.Int32}, x, s.vector("Reshape/shape", to...))
}

func (s *site) transpose(x graph.Output, perm ...int) graph.Output {
	old := sizes(x)
	shape := make([]int, len(perm))
	identity := true
	for i, p := range perm {
		shape[i] = old[p]
		identity = identity && i == p
	}
	if identity {
		return x
	}
	return s.add("Transpose", like(x, shape...), graph.Attrs{"T": x.DType(), "Tperm": tensor.Int32}, x, s.vector("transpose/perm", perm...))
}

func (s *site) cast(x graph.Output, d tensor.DType) graph.Output {
	if x.DType() == d {
		return x
	}
	return s.add("Cast", graph.Type{DType: d, Shape: x.Shape()}, graph.Attrs{"SrcT": x.DType(), "DstT": d, "Truncate": false}, x)
}

// reduce adds Sum, Max, ... over axes.
func (s *site) reduce(op string, x graph.Output, keep bool, axes ...int) graph.Output {
	var shape []int
	for i, n := range sizes(x) {
		switch {
		case !slices.Contains(axes, i):
			shape = append(shape, n)
		case keep:
			shape = append(shape, 1)
		}
	}
	return s.add(op, like(x, shape...), graph.Attrs{"T": x.DType(), "Tidx": tensor.Int32, "keep_dims": keep},
		x, s.vector(op+"/reduction_indices", axes...))
}

// matMul adds a product of two matrices.
func (s *site) matMul(x, y graph.Output, transX, transY bool) graph.Output {
	a, b := sizes(x), sizes(y)
	rows, cols := a[0], b[1]
	if transX {
		rows = a[1]
	}
	if transY {
		cols = b[0]
	}
	return s.add("MatMul", like(x, rows, cols), graph.Attrs{"T": x.DType(), "transpose_a": transX, "transpose_b": transY}, x, y)
}

// size adds the run-time size of one dimension of x as an int32 scalar.
func (s *site) size(x graph.Output, axis int) graph.Output {
	shape := s.add("Shape", graph.Type{DType: tensor.Int32, Shape: graph.ShapeOf(len(x.Shape().Dims))},
		graph.Attrs{"T": x.DType(), "out_type": tensor.Int32}, x)
	return s.add("StridedSlice", graph.Type{DType: tensor.Int32},
		sliceAttrs(tensor.Int32, 0, 1), shape, s.vector("StridedSlice/stack", axis), s.vector("StridedSlice/stack_1", axis+1), s.vector("StridedSlice/stack_2", 1))
}

// sliceAttrs are the attributes of StridedSlice and its gradient: keep is the mask
// of dimensions taken whole, shrink the mask of dimensions that disappear.
func sliceAttrs(d tensor.DType, keep, shrink int64) graph.Attrs {
	return graph.Attrs{"T": d, "Index": tensor.Int32, "begin_mask": keep, "end_mask": keep,
		"ellipsis_mask": int64(0), "new_axis_mask": int64(0), "shrink_axis_mask": shrink}
}
