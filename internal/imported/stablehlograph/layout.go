package stablehlograph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// sizes returns the shape of a value as a vector, which is constant if it is known.
func (b *builder) sizes(v *value) *value {
	switch {
	case !open(v.dims):
		return ints(v.dims...)
	case v.low != nil:
		return b.cast(v.shape, tensor.Int32)
	}
	return b.node(ops.Shape, []int{v.rank()}, graph.Attrs{"out_type": tensor.Int32}, v)
}

// size returns one size of a value, a scalar.
func (b *builder) size(v *value, axis int) *value {
	if v.dims[axis] >= 0 {
		return scalar(tensor.Int32, float64(v.dims[axis]))
	}
	return b.node(ops.Reshape, nil, nil, b.slice(b.sizes(v), []int{axis}, []int{1}), ints())
}

// shapeFrom returns a shape as a vector. Its open sizes are taken from from, in order.
func (b *builder) shapeFrom(dims []int, from ...*value) *value {
	if !open(dims) {
		return ints(dims...)
	}
	parts := make([]*value, len(dims))
	for i, d := range dims {
		if d >= 0 {
			parts[i] = scalar(tensor.Int32, float64(d))
			continue
		}
		if len(from) == 0 {
			refuse("a size is open that nothing says")
		}
		parts[i], from = from[0], from[1:]
	}
	return b.pack(parts)
}

// openSizes returns the open sizes of a value, in order.
func (b *builder) openSizes(v *value) (all []*value) {
	for i, d := range v.dims {
		if d < 0 {
			all = append(all, b.size(v, i))
		}
	}
	return all
}

// pack makes a vector from scalars.
func (b *builder) pack(parts []*value) *value {
	return b.node(ops.Pack, []int{len(parts)}, graph.Attrs{"axis": int64(0)}, parts...)
}

// reshape changes the sizes of a value. One may be open if it follows from the number of elements.
func (b *builder) reshape(v *value, dims ...int) *value {
	if slices.Equal(v.dims, dims) && !open(dims) {
		return v
	}
	if v.low != nil && v.low.rank() == 0 {
		return b.spread(v.low, dims, b.reshapeTo(v, dims))
	}
	return b.node(ops.Reshape, dims, nil, v, b.reshapeTo(v, dims))
}

// reshapeTo returns the shape for a reshape.
func (b *builder) reshapeTo(v *value, dims []int) *value {
	n := 0
	for _, d := range dims {
		if d < 0 {
			n++
		}
	}
	open := b.openSizes(v)
	switch {
	case n == 0:
		return ints(dims...)
	case len(open) == n: // the same open sizes, with others between them
		return b.shapeFrom(dims, open...)
	case n == 1 && !slices.Contains(dims, 0) && v.low == nil:
		return ints(dims...)
	}
	refuse("a reshape of %v to %v, where several sizes are open", v.dims, dims)
	return nil
}

// insert adds dimensions of size 1, which get the given indices in the result.
func (b *builder) insert(v *value, places ...int) *value {
	slices.Sort(places)
	dims := slices.Clone(v.dims)
	for _, p := range places {
		dims = slices.Insert(dims, p, 1)
	}
	if len(places) == 0 {
		return v
	}
	if !open(dims) {
		return b.reshape(v, dims...)
	}
	for _, p := range places {
		v = b.node(ops.ExpandDims, slices.Insert(slices.Clone(v.dims), p, 1), nil, v, scalar(tensor.Int32, float64(p)))
	}
	return v
}

// transpose moves dimensions: dimension i of the result is dimension perm[i].
func (b *builder) transpose(v *value, perm ...int) *value {
	if slices.IsSorted(perm) {
		return v
	}
	dims := make([]int, len(perm))
	for i, p := range perm {
		if p < 0 || p >= len(v.dims) || len(perm) != len(v.dims) {
			refuse("a permutation %v of %d dimensions", perm, len(v.dims))
		}
		dims[i] = v.dims[p]
	}
	if v.low != nil && v.low.rank() == 0 {
		return b.spread(v.low, dims, b.node(ops.GatherV2, []int{len(perm)}, nil, v.shape, ints(perm...), scalar(tensor.Int32, 0)))
	}
	return b.node(ops.Transpose, dims, nil, v, ints(perm...))
}

// slice takes sizes[i] elements from begin[i] on, or all that are left if sizes[i] is -1.
func (b *builder) slice(v *value, begin, sizes []int) *value {
	dims := slices.Clone(sizes)
	for i, d := range dims {
		if d < 0 && v.dims[i] >= 0 {
			dims[i] = v.dims[i] - begin[i]
		}
	}
	return b.node(ops.Slice, dims, nil, v, ints(begin...), ints(sizes...))
}

// spread returns a broadcast, which only becomes a node when it is needed.
func (b *builder) spread(low *value, dims []int, shape *value) *value {
	return &value{dtype: low.dtype, dims: dims, low: low, shape: shape}
}

// concat joins values along an axis.
func (b *builder) concat(axis int, parts ...*value) *value {
	if len(parts) == 1 {
		return parts[0]
	}
	dims := slices.Clone(parts[0].dims)
	for _, p := range parts[1:] {
		for i, d := range p.dims {
			switch {
			case i == axis && (dims[i] < 0 || d < 0):
				dims[i] = -1
			case i == axis:
				dims[i] += d
			case dims[i] < 0:
				dims[i] = d
			}
		}
	}
	in := append(slices.Clone(parts), scalar(tensor.Int32, float64(axis)))
	return b.node(ops.ConcatV2, dims, graph.Attrs{"N": int64(len(parts))}, in...)
}

// count returns 0, 1, ..., n-1.
func (b *builder) count(d tensor.DType, n *value) *value {
	dims := []int{-1}
	if all, ok := n.numbers(); ok && len(all) == 1 {
		dims[0] = all[0]
	}
	zero, one := scalar(tensor.Int32, 0), scalar(tensor.Int32, 1)
	return b.cast(b.node(ops.Range, dims, nil, zero, b.cast(n, tensor.Int32), one), d)
}
