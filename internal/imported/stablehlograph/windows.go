package stablehlograph

import (
	"maps"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/stablehlo"
	"github.com/goestimator/goestimator/tensor"
)

// window is how a window slides over dimensions, one number for each.
type window struct {
	sizes, strides   []int
	low, high        []int // padding
	between, spacing []int // dilations, of what is slid over and of the window
}

// numbersOr returns an attribute that is a list of numbers, all equal where it is left out.
func (x *site) numbersOr(name string, n, v int) []int {
	all := x.ints(name)
	if all == nil {
		return slices.Repeat([]int{v}, n)
	}
	if len(all) != n {
		refuse("attribute %s of %d numbers: expected %d", name, len(all), n)
	}
	return all
}

// window reads the attributes of a window of n dimensions, whose names differ from operation to operation.
func (x *site) window(sizes []int, between, spacing string) window {
	n := len(sizes)
	w := window{sizes: sizes, strides: x.numbersOr("window_strides", n, 1), between: x.numbersOr(between, n, 1), spacing: x.numbersOr(spacing, n, 1), low: make([]int, n), high: make([]int, n)}
	if pads := x.ints("padding"); pads != nil {
		if len(pads) != 2*n {
			refuse("padding of %d numbers: expected %d", len(pads), 2*n)
		}
		for i := range n {
			w.low[i], w.high[i] = pads[2*i], pads[2*i+1]
		}
	}
	const most = 1 << 24
	for _, v := range slices.Concat(w.sizes, w.strides, w.between, w.spacing) {
		if v < 1 || v > most {
			refuse("a window of sizes %v, strides %v and dilations %v and %v", w.sizes, w.strides, w.between, w.spacing)
		}
	}
	for _, v := range slices.Concat(w.low, w.high) {
		if v > most || v < -most {
			refuse("padding %v and %v", w.low, w.high)
		}
	}
	return w
}

// all reports whether a list has one number only.
func all(list []int, v int) bool {
	return !slices.ContainsFunc(list, func(n int) bool { return n != v })
}

// surrounded pads what the window slides over; dims are its dimensions.
func (x *site) surrounded(v, with *value, w window, dims []int) *value {
	low, high, between := make([]int, v.rank()), make([]int, v.rank()), make([]int, v.rank())
	for i, d := range dims {
		low[d], high[d], between[d] = w.low[i], w.high[i], w.between[i]-1
	}
	return x.padded(v, with, low, high, between)
}

// listed is a number for each dimension of images, with their channels last.
func listed(v []int) []int64 {
	list := []int64{1}
	for _, n := range v {
		list = append(list, int64(n))
	}
	return append(list, 1)
}

// convolution slides filters over images whose dimensions may have any order.
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

// withPadding is the operation with a padding that is known; nil: none.
func (x *site) withPadding(pads *value) *site {
	op := *x.op
	op.Attrs = maps.Clone(x.op.Attrs)
	delete(op.Attrs, "padding")
	if pads != nil {
		numbers, _ := pads.numbers()
		list := make([]any, len(numbers))
		for i, v := range numbers {
			list[i] = int64(v)
		}
		op.Attrs["padding"] = list
	}
	y := *x
	y.op = &op
	return &y
}

// paddedBy pads some dimensions by the rows of pads, which a run says.
func (x *site) paddedBy(v, with, pads *value, dims []int) *value {
	pads = x.cast(pads, tensor.Int32)
	rows, out := make([]*value, v.rank()), slices.Clone(v.dims)
	none := x.reshape(ints(0, 0), 1, 2)
	for d := range rows {
		rows[d] = none
	}
	for i, d := range dims {
		rows[d], out[d] = x.slice(pads, []int{i, 0}, []int{1, 2}), -1
	}
	return x.node(ops.PadV2, out, nil, v, x.concat(0, rows...), with)
}

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
		refuse("a filter of sizes %v, some of which are open", f.dims)
	}
	if flips := x.op.Attrs["window_reversal"]; flips != nil {
		f = x.flipped(f)
	}
	work := to.DType
	if work.Half() || isInteger(work) || image.dtype != work {
		work = productType(image.dtype, filter.dtype, to.DType)
	}
	if isInteger(work) {
		work = tensor.Float64 // products of 32 bits and their sums are exact there up to 53 bits
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

// flipped reverses the dimensions of a filter that the convolution says.
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

// slide convolves images with their channels last by a filter [sizes..., inputs of a group, outputs].
func (x *site) slide(u, f *value, w window, groups int) *value {
	n := len(w.sizes)
	space := offset(without(n), 1)
	if n == 1 { // series are images of one row
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
			size = max((u.dims[d]-(w.sizes[i]-1)*w.spacing[i]-1)/w.strides[i]+1, 0)
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

// maxGroups bounds groups that become nodes of their own.
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

// maxUnrolled bounds the elements of windows that are computed one after the other.
const maxUnrolled = 1024

// reduceWindow reduces what lies in each place of a window.
func reduceWindow(x *site) []*value {
	n := len(x.in) / 2
	if n == 0 || len(x.in) != 2*n {
		refuse("%d operands", len(x.in))
	}
	in, init := x.in[:n], x.in[n:]
	w := x.window(x.ints("window_dimensions"), "base_dilations", "window_dilations")
	if len(w.sizes) != in[0].rank() {
		refuse("a window of %d dimensions for an operand of rank %d", len(w.sizes), in[0].rank())
	}
	return x.windows(x.region(0), in, init, w)
}

// dynamicReduceWindow has the numbers of its window as operands, and its region as a function. The padding need not be known.
func dynamicReduceWindow(x *site) []*value {
	called, _ := x.op.Attrs["called_computations"].([]any)
	n := (len(x.in) - 5) / 2
	if len(called) != 1 || n < 1 || len(x.in) != 2*n+5 {
		refuse("%d operands and %d functions", len(x.in), len(called))
	}
	name, _ := called[0].(string)
	f := x.t.functions[name]
	if f == nil {
		refuse("function %q is missing", name)
	}
	in, init, pads := slices.Clone(x.in[:n]), x.in[n:2*n], x.in[len(x.in)-1]
	var numbers [4][]int
	for i := range numbers {
		var ok bool
		if numbers[i], ok = x.in[2*n+i].numbers(); !ok {
			refuse("a window that is not constant")
		}
	}
	op := *x.op
	op.Attrs = map[string]any{}
	for i, name := range []string{"window_dimensions", "window_strides", "base_dilations", "window_dilations"} {
		list := make([]any, len(numbers[i]))
		for k, v := range numbers[i] {
			list[k] = int64(v)
		}
		op.Attrs[name] = list
	}
	y := *x
	y.op = &op
	z := &y
	if _, ok := pads.numbers(); ok {
		z = y.withPadding(pads)
	} else {
		for i, v := range in {
			in[i] = x.paddedBy(v, init[i], pads, without(v.rank()))
		}
	}
	w := z.window(numbers[0], "base_dilations", "window_dilations")
	if len(w.sizes) != in[0].rank() {
		refuse("a window of %d dimensions for an operand of rank %d", len(w.sizes), in[0].rank())
	}
	return z.windows(f.Body, in, init, w)
}

// windows reduces by a region.
func (x *site) windows(r *stablehlo.Region, in, init []*value, w window) []*value {
	kind := only(r)
	if len(in) == 1 {
		if y := x.running(kind, in[0], init[0], w); y != nil {
			return []*value{y}
		}
		if y := x.pooled(kind, in[0], init[0], w); y != nil {
			return []*value{y}
		}
	}
	return x.unrolled(r, in, init, w)
}

// pooled is a reduction of images by a pool; nil where there is none.
func (x *site) pooled(kind string, v, init *value, w window) *value {
	n := v.rank() - 2
	if v.dtype != tensor.Float32 || n != 2 && n != 3 || !neutral(kind, init) || kind != "add" && kind != "maximum" || !all(w.spacing, 1) || w.sizes[0] != 1 || w.sizes[n+1] != 1 ||
		w.strides[0] != 1 || w.strides[n+1] != 1 || w.low[0]|w.high[0]|w.low[n+1]|w.high[n+1] != 0 || w.between[0] != 1 || w.between[n+1] != 1 {
		return nil
	}
	if kind == "maximum" {
		init = scalar(v.dtype, math.Inf(-1))
	}
	u := x.surrounded(v, init, w, without(v.rank()))
	attrs := graph.Attrs{"ksize": listed(w.sizes[1 : n+1]), "strides": listed(w.strides[1 : n+1]), "padding": []byte("VALID")}
	d := map[string]*ops.Def{"add": ops.AvgPool, "maximum": ops.MaxPool}[kind]
	if n == 3 {
		d = map[string]*ops.Def{"add": ops.AvgPool3D, "maximum": ops.MaxPool3D}[kind]
	}
	y := x.node(d, x.result(0).Dims, attrs, u)
	if kind == "add" {
		count := 1
		for _, s := range w.sizes {
			count *= s
		}
		return x.each(ops.Mul, nil, y, scalar(v.dtype, float64(count)))
	}
	return y
}

// running is a window over all elements before each, or after it: a running sum or product; nil for others.
func (x *site) running(kind string, v, init *value, w window) *value {
	d := map[string]*ops.Def{"add": ops.Cumsum, "multiply": ops.Cumprod}[kind]
	if d == nil || v.dtype == tensor.Bool || !neutral(kind, init) || !all(w.strides, 1) || !all(w.between, 1) || !all(w.spacing, 1) {
		return nil
	}
	axis := -1
	for i, s := range w.sizes {
		switch {
		case s == 1 && w.low[i] == 0 && w.high[i] == 0:
		case axis < 0 && s == v.dims[i] && w.low[i]+w.high[i] == s-1 && w.low[i]*w.high[i] == 0:
			axis = i
		default:
			return nil
		}
	}
	if axis < 0 {
		return nil
	}
	return x.node(d, v.dims, graph.Attrs{"exclusive": false, "reverse": w.low[axis] == 0}, v, scalar(tensor.Int32, float64(axis)))
}

// unrolled takes the elements of the window one after the other, for all places at once.
func (x *site) unrolled(r *stablehlo.Region, in, init []*value, w window) []*value {
	count := 1
	for _, s := range w.sizes {
		if count *= s; count > maxUnrolled {
			refuse("a window of more than %d elements", maxUnrolled)
		}
	}
	n := len(w.sizes)
	padded := make([]*value, len(in))
	for i, v := range in {
		padded[i] = x.surrounded(v, init[i], w, without(n))
		for d, size := range padded[i].dims {
			if size < 0 && (w.sizes[d] != 1 || w.strides[d] != 1) {
				refuse("a window along a size that is open, which no pool is")
			}
		}
	}
	now := slices.Clone(init)
	for k := range count {
		part := make([]*value, len(in))
		for i, v := range padded {
			part[i] = x.windowPart(v, w, k, x.result(i).Dims)
		}
		now = x.apply(r, append(slices.Clone(now), part...)...)
	}
	return now
}

// windowPart are the elements at place k of all windows.
func (x *site) windowPart(v *value, w window, k int, dims []int) *value {
	n := len(w.sizes)
	begin, end, mask := make([]int, n), make([]int, n), 0
	for i := n - 1; i >= 0; i-- {
		begin[i] = k % w.sizes[i] * w.spacing[i]
		k /= w.sizes[i]
		if dims[i] < 0 {
			mask |= 1 << i
			continue
		}
		end[i] = begin[i] + (dims[i]-1)*w.strides[i] + 1
		if dims[i] == 0 {
			end[i] = begin[i]
		}
	}
	attrs := graph.Attrs{"begin_mask": int64(0), "end_mask": int64(mask), "ellipsis_mask": int64(0), "new_axis_mask": int64(0), "shrink_axis_mask": int64(0)}
	return x.node(ops.StridedSlice, dims, attrs, v, ints(begin...), ints(end...), ints(w.strides...))
}
