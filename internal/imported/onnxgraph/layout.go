package onnxgraph

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/session/infer"
	"github.com/goestimator/goestimator/tensor"
)

// toLast is the permutation that puts channels last; fromLast is its inverse.
func toLast(rank int) []int {
	perm := []int{0}
	for i := 2; i < rank; i++ {
		perm = append(perm, i)
	}
	return append(perm, 1)
}

func fromLast(rank int) []int {
	perm := []int{0, rank - 1}
	for i := 1; i < rank-1; i++ {
		perm = append(perm, i)
	}
	return perm
}

// plain returns a value in the model's layout.
func (b *builder) plain(v *value) *value {
	if v.seq {
		refuse("a sequence where a tensor is expected")
	}
	if v.keys != nil {
		refuse("maps where a tensor is expected")
	}
	if v.t != nil || v.out.Valid() || v.last == nil {
		return v
	}
	p := b.transpose(v.last, fromLast(v.last.rank()))
	v.t, v.out = p.t, p.out
	return v
}

// channelsLast returns a value of known rank with its channels last.
func (b *builder) channelsLast(v *value) *value {
	v = b.own(v)
	rank := v.rank()
	if rank < 3 {
		refuse("expected images, got a tensor of rank %d (-1: it is not known)", rank)
	}
	if v.last == nil {
		v.last = b.transpose(v, toLast(rank))
	}
	return v.last
}

// channelsFirst returns the value whose layout with channels last is given.
func (b *builder) channelsFirst(last *value) *value {
	if last.rank() < 0 {
		refuse("the rank of the result is not known")
	}
	v := &value{dtype: last.dtype, last: last}
	for i, k := range last.known {
		if rank := len(k.Shape); k.Known && rank > 1 {
			v.known[i] = infer.Shaped(permuted(k.Shape, fromLast(rank))...)
		}
	}
	return b.add(v)
}

func permuted(s, perm []int) []int {
	out := make([]int, len(perm))
	for i, p := range perm {
		out[i] = s[p]
	}
	return out
}

// inLast reports whether an elementwise operator is better done with channels last: one operand only exists in that layout, and all
// others can be brought into it.
func inLast(in []*value) bool {
	rank, only := -1, false
	for _, v := range in {
		rank = max(rank, v.rank())
		only = only || v.last != nil && !v.out.Valid() && v.t == nil
	}
	for _, v := range in {
		r := v.rank()
		if r < 0 || r == rank && r < 3 || r != rank && r > 0 && v.t == nil {
			return false
		}
	}
	return only
}

// aligned returns values of known rank with channels last, as for the operand of highest rank.
func (b *builder) aligned(in []*value) []*value {
	rank := 0
	for _, v := range in {
		rank = max(rank, v.rank())
	}
	out := make([]*value, len(in))
	for i, v := range in {
		if v.rank() == 0 {
			out[i] = v
			continue
		}
		if lacks := rank - v.rank(); lacks > 0 { // it is a constant
			shape := make([]int, rank)
			for k := range shape {
				if shape[k] = 1; k >= lacks {
					shape[k] = v.t.Shape[k-lacks]
				}
			}
			v = b.reshape(v, shape...)
		}
		out[i] = b.channelsLast(v)
	}
	return out
}

// each adds an elementwise op, with its inputs broadcast to one shape; channels stay last where they are.
func (b *builder) each(d *ops.Def, attrs graph.Attrs, in ...*value) *value {
	for i, v := range in {
		in[i] = b.own(v)
	}
	if !inLast(in) {
		return b.op(d, attrs, in...)
	}
	return b.channelsFirst(b.op(d, attrs, b.aligned(in)...))
}

// ints returns a constant int32 vector.
func (b *builder) ints(list ...int) *value {
	t := tensor.New(tensor.Int32, len(list))
	for i, v := range list {
		tensor.Values[int32](t)[i] = narrowed(v)
	}
	return constant(t)
}

// i32 returns a constant int32 scalar.
func (b *builder) i32(v int) *value { return constant(tensor.Scalar(narrowed(v))) }

// scalar returns a constant of any numeric type.
func (b *builder) scalar(d tensor.DType, v float64) *value {
	if d == tensor.Float64 {
		return constant(tensor.Scalar(v))
	}
	if d == tensor.Int64 {
		return constant(tensor.Scalar(int64(v)))
	}
	if d == tensor.Uint64 {
		return constant(tensor.Scalar(uint64(v)))
	}
	return b.cast(constant(tensor.Scalar(v)), d)
}

func (b *builder) transpose(v *value, perm []int) *value {
	identity := true
	for i, p := range perm {
		identity = identity && i == p
	}
	if identity {
		return b.plain(v)
	}
	return b.op(ops.Transpose, nil, v, b.ints(perm...))
}

func (b *builder) reshape(v *value, shape ...int) *value {
	return b.op(ops.Reshape, nil, v, b.ints(shape...))
}

// cast converts elements as ONNX defines it; a value of that type is returned unchanged.
func (b *builder) cast(v *value, to tensor.DType) *value {
	if v.dtype == to {
		return v
	}
	return b.each(ops.Cast, graph.Attrs{"SrcT": v.dtype, "DstT": to, "Truncate": false}, v)
}

// narrowed clamps an integer to int32, so that no length or index becomes another one that fits. The lower limit
// can be negated.
func narrowed(v int) int32 { return int32(max(min(v, math.MaxInt32), -math.MaxInt32)) }

// narrow is narrowed for integers known only from a request.
func (b *builder) narrow(v *value) *value {
	if v.dtype == tensor.Int64 {
		v = b.op(ops.Maximum, nil, b.op(ops.Minimum, nil, v, constant(tensor.Scalar(int64(math.MaxInt32)))), constant(tensor.Scalar(int64(-math.MaxInt32))))
	}
	return b.cast(v, tensor.Int32)
}

// shape returns the shape of a value, an int32 vector.
func (b *builder) shape(v *value) *value {
	if dims := v.dims(); dims != nil {
		fixed := true
		for _, d := range dims {
			fixed = fixed && d >= 0
		}
		if fixed {
			return b.ints(dims...)
		}
	}
	return b.op(ops.Shape, graph.Attrs{"out_type": tensor.Int32}, v)
}

// size returns a dimension, an int32 scalar.
func (b *builder) size(v *value, axis int) *value {
	if dims := v.dims(); axis < len(dims) && dims[axis] >= 0 {
		return b.i32(dims[axis])
	}
	return b.op(ops.GatherV2, nil, b.shape(v), b.i32(axis), b.i32(0))
}

// concat joins vectors, or tensors along an axis.
func (b *builder) concat(axis int, in ...*value) *value {
	if len(in) == 1 {
		return in[0]
	}
	return b.op(ops.ConcatV2, nil, append(append([]*value{}, in...), b.i32(axis))...)
}

// pack makes a vector from scalars.
func (b *builder) pack(in ...*value) *value {
	return b.op(ops.Pack, graph.Attrs{"axis": int64(0)}, in...)
}
