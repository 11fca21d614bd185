package stablehlograph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// convolution slides filters over images whose dimensions are in any order.
func convolution(x *site) *value {
	return x.convolved(x.at(0), x.at(1))
}

// dynamicConvolution has its padding as an operand.
func dynamicConvolution(x *site) *value {
	image := x.at(0)
	space := x.ints("input_spatial_dimensions")
	if between := x.numbersOr("lhs_dilation", len(space), 1); !all(between, 1) {
		if _, ok := x.at(2).numbers(); !ok {
			refuse("a padding that is not constant, of dilated images")
		}
		return x.withPadding(x.at(2)).convolved(image, x.at(1))
	}
	if _, ok := x.at(2).numbers(); ok {
		return x.withPadding(x.at(2)).convolved(image, x.at(1))
	}
	zero := scalar(image.dtype, 0)
	return x.withPadding(nil).convolved(x.paddedBy(image, zero, x.at(2), space), x.at(1))
}

// convolved brings images and filters into TensorFlow's order of dimensions.
func (x *site) convolved(image, filter *value) *value {
	to := x.result(0)
	inSpace, filterSpace, outSpace := x.ints("input_spatial_dimensions"), x.ints("kernel_spatial_dimensions"), x.ints("output_spatial_dimensions")
	n := len(inSpace)
	if n < 1 || n > 3 || len(filterSpace) != n || len(outSpace) != n || image.rank() != n+2 || filter.rank() != n+2 {
		refuse("a convolution over %d dimensions: expected 1 to 3", n)
	}
	if x.int("batch_group_count") != 1 {
		refuse("batch_group_count %d: expected 1", x.int("batch_group_count"))
	}
	u := x.transpose(image, slices.Concat([]int{x.int("input_batch_dimension")}, inSpace, []int{x.int("input_feature_dimension")})...)
	f := x.transpose(filter, slices.Concat(filterSpace, []int{x.int("kernel_input_feature_dimension"), x.int("kernel_output_feature_dimension")})...)
	if open(f.dims) {
		refuse("a filter with open sizes: %v", f.dims)
	}
	if flips := x.op.Attrs["window_reversal"]; flips != nil {
		f = x.flipped(f)
	}
	work := to.DType
	if work.Half() || isInteger(work) || image.dtype != work {
		work = productType(image.dtype, filter.dtype, to.DType)
	}
	if isInteger(work) {
		work = tensor.Float64 // float64 holds sums of 32-bit products exactly up to 53 bits
	}
	u, f = x.cast(u, work), x.cast(f, work)
	w := x.window(f.dims[:n], "lhs_dilation", "rhs_dilation")
	y := x.slide(u, f, w, x.int("feature_group_count"))
	perm := make([]int, n+2)
	perm[x.int("output_batch_dimension")], perm[x.int("output_feature_dimension")] = 0, n+1
	for i, d := range outSpace {
		perm[d] = i + 1
	}
	if isInteger(to.DType) && work == tensor.Float64 && to.DType.Size() < 8 {
		y = x.cast(y, tensor.Int64)
	}
	return x.cast(x.transpose(y, perm...), to.DType)
}

// flipped reverses the dimensions of a filter, as the convolution asks.
func (x *site) flipped(f *value) *value {
	var axes []int
	switch v := x.op.Attrs["window_reversal"].(type) {
	case []any:
		for i, e := range v {
			if flip, _ := e.(bool); flip {
				axes = append(axes, i)
			}
		}
	default:
		for i, n := range x.ints("window_reversal") {
			if n != 0 {
				axes = append(axes, i)
			}
		}
	}
	if len(axes) == 0 {
		return f
	}
	return x.node(ops.ReverseV2, f.dims, nil, f, ints(axes...))
}

// slide convolves images with channels last by a filter [sizes..., inputs of a group, outputs].
func (x *site) slide(u, f *value, w window, groups int) *value {
	n := len(w.sizes)
	space := offset(without(n), 1)
	if n == 1 { // treat series as images of one row
		u, f = x.insert(u, 1), x.insert(f, 0)
		first := func(v int, list []int) []int { return append([]int{v}, list...) }
		w = window{first(1, w.sizes), first(1, w.strides), first(0, w.low), first(0, w.high), first(1, w.between), first(1, w.spacing)}
		y := x.slide(u, f, w, groups)
		return x.reshape(y, y.dims[0], y.dims[2], y.dims[3])
	}
	u = x.surrounded(u, scalar(u.dtype, 0), w, space)
	dims := []int{u.dims[0]}
	for i, d := range space {
		size := -1
		if u.dims[d] >= 0 {
			size = max(u.dims[d]-(w.sizes[i]-1)*w.spacing[i]-1+w.strides[i], 0) / w.strides[i]
		}
		dims = append(dims, size)
	}
	outputs := f.dims[n+1]
	attrs := graph.Attrs{"strides": listed(w.strides), "dilations": listed(w.spacing), "padding": []byte("VALID")}
	if n == 3 {
		return x.inGroups(u, f, groups, append(dims, outputs), func(u, f *value, dims []int) *value { return x.node(ops.Conv3D, dims, attrs, u, f) })
	}
	if f.dims[n] == 1 && groups > 1 && w.strides[0] == w.strides[1] && outputs%groups == 0 {
		f = x.reshape(f, w.sizes[0], w.sizes[1], groups, outputs/groups)
		return x.node(ops.DepthwiseConv2dNative, append(dims, outputs), attrs, u, f)
	}
	return x.node(ops.Conv2D, append(dims, outputs), attrs, u, f)
}

// maxGroups bounds the groups that become separate nodes.
const maxGroups = 1024

// inGroups convolves each group of channels by its filters.
func (x *site) inGroups(u, f *value, groups int, dims []int, by func(u, f *value, dims []int) *value) *value {
	if groups == 1 {
		return by(u, f, dims)
	}
	last := len(dims) - 1
	if groups < 1 || groups > maxGroups || dims[last]%groups != 0 || u.dims[last] < 0 || u.dims[last]%groups != 0 {
		refuse("%d groups of %d channels and %d outputs", groups, u.dims[last], dims[last])
	}
	each := slices.Clone(dims)
	each[last] /= groups
	inputs := u.dims[last] / groups
	part := func(v *value, i, n int) *value {
		begin, sizes := make([]int, v.rank()), slices.Repeat([]int{-1}, v.rank())
		begin[last], sizes[last] = i*n, n
		return x.slice(v, begin, sizes)
	}
	var parts []*value
	for i := range groups {
		parts = append(parts, by(part(u, i, inputs), part(f, i, each[last]), each))
	}
	return x.concat(last, parts...)
}
