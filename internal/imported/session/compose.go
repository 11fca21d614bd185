package session

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// op adds a helper node for x.
func (x *emission) op(op string, s graph.Shape, attrs graph.Attrs, in ...graph.Output) graph.Output {
	n := x.add(op, []graph.Type{{DType: x.types[0].DType, Shape: s}}, attrs, in...)
	if n == nil {
		return graph.Output{}
	}
	return n.Out(0)
}

// product multiplies sizes; one of them may depend on the batch.
func product(dims ...graph.Dim) (graph.Dim, error) {
	p := graph.Fixed(1)
	for _, d := range dims {
		if p.PerBatch != 0 && d.PerBatch != 0 {
			return p, errNotLinear
		}
		if d.PerBatch != 0 {
			p, d = d, p
		}
		p = graph.Dim{PerBatch: p.PerBatch * d.Const, Const: p.Const * d.Const}
	}
	return p, nil
}

func shapeOfDims(dims ...graph.Dim) graph.Shape { return graph.Shape{Dims: dims} }

// reshape gives o other sizes; the target shape is not read, since the type states it.
func (x *emission) reshape(o graph.Output, dims ...graph.Dim) graph.Output {
	s := shapeOfDims(dims...)
	if o.Shape().Equal(s) {
		return o
	}
	return x.op("Reshape", s, nil, o, x.ints(make([]int32, len(dims))))
}

// transpose permutes the axes of o.
func (x *emission) transpose(o graph.Output, perm []int) graph.Output {
	if slices.IsSorted(perm) {
		return o
	}
	dims, p := make([]graph.Dim, len(perm)), make([]int32, len(perm))
	for i, a := range perm {
		dims[i], p[i] = o.Shape().Dims[a], int32(a)
	}
	return x.op("Transpose", shapeOfDims(dims...), nil, o, x.ints(p))
}

// einsum multiplies matrices. Axes of both operands and the result are batch axes, axes of both operands only are
// summed over, and the others are rows and columns.
func einsum(x *emission) ([]graph.Output, error) {
	left, out, err := terms(x)
	if err != nil {
		return nil, err
	}
	a, b := left[0], left[1]
	var batch, rows, inner, cols []byte
	for _, l := range a {
		switch inB, inOut := slices.Contains(b, l), slices.Contains(out, l); {
		case inB && inOut:
			batch = append(batch, l)
		case inB:
			inner = append(inner, l)
		case inOut:
			rows = append(rows, l)
		default:
			return nil, fmt.Errorf("an index of one operand alone is summed over")
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) {
			if !slices.Contains(out, l) {
				return nil, fmt.Errorf("an index of one operand alone is summed over")
			}
			cols = append(cols, l)
		}
	}
	size := map[byte]graph.Dim{}
	for i, t := range left {
		for k, l := range t {
			size[l] = x.in[i].Shape().Dims[k]
		}
	}
	var p [4]graph.Dim
	for i, part := range [][]byte{batch, rows, inner, cols} {
		var dims []graph.Dim
		for _, l := range part {
			dims = append(dims, size[l])
		}
		if p[i], err = product(dims...); err != nil {
			return nil, err
		}
	}
	u := x.transpose(x.in[0], places(slices.Concat(batch, rows, inner), a))
	v := x.transpose(x.in[1], places(slices.Concat(batch, inner, cols), b))
	var y graph.Output
	if len(batch) == 0 {
		var attrs graph.Attrs
		if x.operands != tensor.Invalid {
			attrs = graph.Attrs{engine.OperandsType: engine.HalfType(x.operands)}
		}
		y = x.op("MatMul", shapeOfDims(p[1], p[3]), attrs, x.reshape(u, p[1], p[2]), x.reshape(v, p[2], p[3]))
	} else {
		y = x.op("BatchMatMulV2", shapeOfDims(p[0], p[1], p[3]), nil, x.reshape(u, p[0], p[1], p[2]), x.reshape(v, p[0], p[2], p[3]))
	}
	made := slices.Concat(batch, rows, cols)
	var dims []graph.Dim
	for _, l := range made {
		dims = append(dims, size[l])
	}
	return []graph.Output{x.transpose(x.reshape(y, dims...), places(out, made))}, x.b.Err()
}

// places returns the index in have of each element of want.
func places(want, have []byte) []int {
	out := make([]int, len(want))
	for i, l := range want {
		out[i] = slices.Index(have, l)
	}
	return out
}

// terms returns the indices of the two operands of an Einsum and of its result.
func terms(x *emission) (left [2][]byte, out []byte, err error) {
	at, seen := 0, map[byte]bool{}
	eq := x.n.Str("equation")
	for i := 0; i < len(eq); i++ {
		l := eq[i]
		letter := l >= 'a' && l <= 'z' || l >= 'A' && l <= 'Z'
		switch {
		case l == ' ':
		case l == ',' && at == 0:
			at = 1
			clear(seen)
		case l == '-' && at == 1 && i+1 < len(eq) && eq[i+1] == '>':
			at, i = 2, i+1
			clear(seen)
		case letter && !seen[l] && at < 2:
			left[at], seen[l] = append(left[at], l), true
		case letter && !seen[l]:
			out, seen[l] = append(out, l), true
		default:
			return left, nil, fmt.Errorf("equation %q: expected two operands without repeated indices", eq)
		}
	}
	if at != 2 || len(x.in) != 2 {
		return left, nil, fmt.Errorf("equation %q: expected two operands and a result", eq)
	}
	for i := range left {
		if len(left[i]) != x.in[i].Shape().Rank() {
			return left, nil, fmt.Errorf("equation %q: operand %d has shape %v", eq, i, x.in[i].Shape())
		}
	}
	return left, out, nil
}

// layerNorm is FusedBatchNorm in training mode on one image with many channels before its sizes: Keras normalizes layers this way.
func layerNorm(x *emission) ([]graph.Output, error) {
	if !x.n.Bool("is_training") {
		return channelsLast(x)
	}
	s := x.in[0].Shape()
	if x.n.Str("data_format") != "NCHW" || s.Rank() != 4 || s.Dims[0] != graph.Fixed(1) {
		return nil, fmt.Errorf("expected statistics that are given, or one image in format NCHW")
	}
	c := s.Dims[1]
	size, err := product(s.Dims[2], s.Dims[3])
	if err != nil {
		return nil, err
	}
	rows, column := shapeOfDims(c, size), shapeOfDims(c, graph.Fixed(1))
	keep := graph.Attrs{"keep_dims": true}
	v := x.reshape(x.in[0], c, size)
	centered := x.op("Sub", rows, nil, v, x.op("Mean", column, keep, v, x.ints([]int32{1})))
	variance := x.op("Mean", column, keep, x.op("Square", rows, nil, centered), x.ints([]int32{1}))
	epsilon := x.b.Scalar(x.b.Graph.UniqueName(x.n.Name+"/epsilon"), x.types[0].DType, float64(x.n.Float("epsilon", 1e-4)))
	scale := x.op("Mul", column, nil, x.op("Rsqrt", column, nil, x.op("AddV2", column, nil, variance, epsilon)), x.reshape(x.in[1], c, graph.Fixed(1)))
	y := x.op("AddV2", rows, nil, x.op("Mul", rows, nil, centered, scale), x.reshape(x.in[2], c, graph.Fixed(1)))
	return []graph.Output{x.reshape(y, s.Dims...)}, x.b.Err()
}

// channelsLastAt computes an op on images in format NCHW, or volumes in NCDHW, with channels last: it transposes the
// inputs at the given indices, and the first output back.
func channelsLastAt(places ...int) form {
	return func(x *emission) ([]graph.Output, error) {
		if f := x.n.Str("data_format"); f != "NCHW" && f != "NCDHW" {
			return asItIs(x)
		}
		rank := x.types[0].Shape.Rank()
		last, first := []int{0}, []int{0, rank - 1}
		for i := 1; i < rank-1; i++ {
			last, first = append(last, i+1), append(first, i)
		}
		in, types := slices.Clone(x.in), slices.Clone(x.types)
		for _, i := range places {
			if rank < 4 || rank > 5 || in[i].Shape().Rank() != rank {
				return nil, fmt.Errorf("expected images of rank 4 or volumes of rank 5")
			}
			in[i] = x.transpose(in[i], append(last, 1))
		}
		types[0].Shape = shapeOfDims(permuted(types[0].Shape.Dims, append(last, 1))...)
		n := x.add(x.n.Op, types, lastAttrs(x.attrs, append(last, 1)), in...)
		if n == nil {
			return nil, x.b.Err()
		}
		out := outputs(n)
		out[0] = x.transpose(out[0], first)
		return out, x.b.Err()
	}
}

var channelsLast = channelsLastAt(0)

func permuted[T any](v []T, perm []int) []T {
	out := make([]T, len(perm))
	for i, p := range perm {
		out[i] = v[p]
	}
	return out
}

// lastAttrs returns attrs for channels last: lists with one or two numbers per dimension are permuted.
func lastAttrs(attrs graph.Attrs, perm []int) graph.Attrs {
	last := graph.Attrs{}
	for name, v := range attrs {
		switch l, _ := v.([]int64); len(l) {
		case len(perm):
			v = permuted(l, perm)
		case 2 * len(perm):
			var pairs []int64
			for _, p := range perm {
				pairs = append(pairs, l[2*p], l[2*p+1])
			}
			v = pairs
		}
		last[name] = v
	}
	last["data_format"] = []byte("NHWC")
	if len(perm) == 5 {
		last["data_format"] = []byte("NDHWC")
	}
	return last
}
