package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// convolutionOperators slide filters over images, series or volumes.
var convolutionOperators = operators{
	"Conv":          one(conv).but("dilated volumes with groups"),
	"ConvTranspose": one(convTranspose).but("volumes whose sizes are open"),
	"DeformConv":    one(deformConv).but("volumes, auto_pad"),
}

// windowed says how a window slides over images, with one number per spatial dimension.
type windowed struct {
	n                          int // number of spatial dimensions
	kernel, strides, dilations []int
	before, after              []int // padding
	same                       bool  // TensorFlow's SAME, which depends on the sizes
	sameLower                  bool
	ceil                       bool
}

// window reads the attributes that convolutions and pools share.
func (x *site) window(kernel []int) windowed {
	n := len(kernel)
	w := windowed{n: n, kernel: kernel, strides: x.intList("strides", slices.Repeat([]int{1}, n)), dilations: x.intList("dilations", slices.Repeat([]int{1}, n))}
	pads := x.intList("pads", make([]int, 2*n))
	switch pad := x.str("auto_pad", "NOTSET"); pad {
	case "", "NOTSET":
	case "VALID":
		pads = make([]int, 2*n)
	case "SAME_UPPER":
		w.same, pads = true, make([]int, 2*n)
	case "SAME_LOWER":
		w.same, w.sameLower, pads = true, true, make([]int, 2*n)
	default:
		refuse("auto_pad %s", pad)
	}
	if len(w.strides) != n || len(w.dilations) != n || len(pads) != 2*n {
		refuse("strides %v, dilations %v and pads %v for a window of %v", w.strides, w.dilations, pads, kernel)
	}
	const most = 1 << 24
	for i, v := range slices.Concat(w.strides, w.dilations, kernel) {
		if v < 1 || v > most {
			refuse("number %d of strides, dilations and window is %d", i, v)
		}
	}
	for _, v := range pads {
		if v > most || v < -most {
			refuse("pads %v", pads)
		}
	}
	w.before, w.after = pads[:n:n], pads[n:]
	return w
}

// extent is the extent of the window in dimension i.
func (w windowed) extent(i int) int { return (w.kernel[i]-1)*w.dilations[i] + 1 }

// settle replaces SAME by numbers if the image's sizes are known.
func (w windowed) settle(sizes []int) windowed {
	if !w.same {
		return w
	}
	unit := true
	for i := range w.n {
		unit = unit && w.strides[i] == 1
	}
	before, after := make([]int, w.n), make([]int, w.n)
	for i := range w.n {
		total := w.extent(i) - 1
		if !unit {
			if sizes == nil || sizes[i] < 0 {
				if w.sameLower {
					refuse("auto_pad SAME_LOWER of images whose sizes are not known")
				}
				return w
			}
			out := (sizes[i] + w.strides[i] - 1) / w.strides[i]
			total = max((out-1)*w.strides[i]+w.extent(i)-sizes[i], 0)
		}
		before[i], after[i] = total/2, total-total/2
		if w.sameLower {
			before[i], after[i] = after[i], before[i]
		}
	}
	w.before, w.after, w.same = before, after, false
	return w
}

// padded reports whether there is padding, negative whether some padding is negative.
func (w windowed) padded() bool {
	return slices.ContainsFunc(slices.Concat(w.before, w.after), func(p int) bool { return p != 0 })
}

func (w windowed) negative() bool {
	return slices.ContainsFunc(slices.Concat(w.before, w.after), func(p int) bool { return p < 0 })
}

func allOnes(list []int) bool {
	return !slices.ContainsFunc(list, func(v int) bool { return v != 1 })
}

// lifted makes a window over series one over images: it adds a first dimension of size one.
func (w windowed) lifted() windowed {
	first := func(v int, list []int) []int { return append([]int{v}, list...) }
	w.n, w.kernel, w.strides, w.dilations = 2, first(1, w.kernel), first(1, w.strides), first(1, w.dilations)
	w.before, w.after = first(0, w.before), first(0, w.after)
	return w
}

// attrs returns the attributes of an op that slides over images or volumes with channels last.
func (w windowed) attrs() graph.Attrs {
	a := graph.Attrs{"strides": listed(w.strides), "padding": []byte("VALID")}
	switch {
	case w.same:
		a["padding"] = []byte("SAME")
	case w.padded():
		a["padding"], a["explicit_paddings"] = []byte("EXPLICIT"), w.explicit()
	}
	return a
}

// explicit returns the padding as TensorFlow lists it.
func (w windowed) explicit() []int64 {
	list := []int64{0, 0}
	for i := range w.n {
		list = append(list, int64(w.before[i]), int64(w.after[i]))
	}
	return append(list, 0, 0)
}

// listed returns one number for each dimension of images.
func listed(v []int) []int64 {
	list := []int64{1}
	for _, n := range v {
		list = append(list, int64(n))
	}
	return append(list, 1)
}

// padLast pads images with channels last by a number; negative padding crops.
func (b *builder) padLast(v *value, w windowed, by float64) *value {
	return b.pad(v, slices.Concat([]int{0}, w.before, []int{0}), slices.Concat([]int{0}, w.after, []int{0}), b.scalar(v.dtype, by))
}

// images sets the rank and the channels of images whose rank is unknown; -1: any number of channels.
func (b *builder) images(v *value, rank, channels int) *value {
	sizes := slices.Repeat([]int{-1}, rank)
	sizes[1] = channels
	return b.sized(v, sizes)
}

// sizesOf returns the sizes of images, -1 for open ones, nil if nothing is known.
func sizesOf(v *value) []int {
	if dims := v.dims(); len(dims) > 2 {
		return dims[2:]
	}
	return nil
}

func conv(x *site) *value {
	image, filter, bias := x.at(0), x.at(1), optional(x, 2)
	if p := x.codedProduct(image, filter, 0); p != nil {
		p.add = bias
		if y := x.bytesConvolution(image.coded.u, filter.coded.u, p); y != nil {
			return y
		}
	}
	return x.convolved(image, filter, bias, nil)
}

// convolving is a convolution of images with channels last by a filter [height, width, inputs, outputs].
type convolving func(u, filter *value, attrs graph.Attrs) *value

// convolved slides filters [outputs, inputs of a group, sizes...] over images, and adds a bias if there is one. It uses by, unless
// that is nil, for images in one group.
func (x *site) convolved(image, filter, bias *value, by convolving) *value {
	dims := filter.dims()
	if len(dims) < 3 || len(dims) > 5 || slices.Contains(dims, -1) {
		refuse("the shape of the filter has to be known, of rank 3 to 5: got %v", dims)
	}
	if slices.Contains(dims, 0) {
		refuse("a filter of shape %v", dims)
	}
	if k := x.intList("kernel_shape", dims[2:]); !slices.Equal(k, dims[2:]) {
		refuse("kernel_shape %v for filters of shape %v", k, dims)
	}
	groups := x.int("group", 1)
	if groups < 1 || dims[0]%groups != 0 {
		refuse("%d groups of %d outputs", groups, dims[0])
	}
	image = x.images(image, len(dims), dims[1]*groups)
	w := x.window(dims[2:]).settle(sizesOf(image))
	u := x.channelsLast(image)
	var y *value
	if w.n == 3 {
		y = x.conv3(u, filter, w, groups, dims)
	} else {
		y = x.conv2(u, filter, w, groups, dims, by)
	}
	if bias != nil {
		y = x.op(ops.BiasAdd, nil, y, bias)
	}
	return x.channelsFirst(x.sized(y, append(slices.Repeat([]int{-1}, w.n+1), dims[0])))
}

// filterPerm permutes filters to [sizes..., inputs, outputs].
func filterPerm(n int) (perm []int) {
	for i := range n {
		perm = append(perm, i+2)
	}
	return append(perm, 1, 0)
}

func (x *site) conv2(u, filter *value, w windowed, groups int, dims []int, by convolving) *value {
	series := w.n == 1
	if series {
		u = x.op(ops.ExpandDims, nil, u, x.i32(1))
		filter = x.reshape(filter, dims[0], dims[1], 1, dims[2])
		dims = []int{dims[0], dims[1], 1, dims[2]}
		w = w.lifted() // SAME does not pad the one row
	}
	if w.negative() {
		u = x.padLast(u, w, 0)
		w.before, w.after = []int{0, 0}, []int{0, 0}
	}
	attrs := w.attrs()
	attrs["dilations"] = listed(w.dilations)
	var y *value
	switch {
	case by != nil:
		y = by(u, x.transpose(filter, filterPerm(2)), attrs)
	case dims[1] == 1 && groups > 1 && w.strides[0] == w.strides[1] && u.dtype.Float():
		f := x.reshape(filter, groups, dims[0]/groups, dims[2], dims[3])
		y = x.op(ops.DepthwiseConv2dNative, attrs, u, x.transpose(f, []int{2, 3, 0, 1}))
	default:
		y = x.op(ops.Conv2D, attrs, u, x.transpose(filter, filterPerm(2)))
	}
	if series {
		y = x.op(ops.Squeeze, graph.Attrs{"squeeze_dims": []int64{1}}, y)
	}
	return y
}

func (x *site) conv3(u, filter *value, w windowed, groups int, dims []int) *value {
	if w.padded() {
		u = x.padLast(u, w, 0)
		w.before, w.after = make([]int, 3), make([]int, 3)
	}
	attrs := w.attrs()
	attrs["dilations"] = listed(w.dilations)
	return x.inGroups(groups, u, filter, 4, 0, func(u, filter *value) *value {
		return x.op(ops.Conv3D, attrs, u, x.transpose(filter, filterPerm(3)))
	})
}

// maxGroups bounds the groups that become separate nodes.
const maxGroups = 4096

// inGroups applies f to each group of channels and its filters, and joins the results along the last axis.
func (x *site) inGroups(groups int, u, filter *value, channels, filters int, f func(u, filter *value) *value) *value {
	if groups == 1 {
		return f(u, filter)
	}
	if groups < 1 || groups > maxGroups {
		refuse("%d groups: expected 1 to %d", groups, maxGroups)
	}
	parts := x.ops(ops.Split, graph.Attrs{"num_split": int64(groups)}, x.i32(channels), u)
	each := x.ops(ops.Split, graph.Attrs{"num_split": int64(groups)}, x.i32(filters), filter)
	var out []*value
	for i := range parts {
		out = append(out, f(parts[i], each[i]))
	}
	return x.concat(out[0].rank()-1, out...)
}

// convTranspose has filters [inputs, outputs of a group, sizes...].
func convTranspose(x *site) *value {
	image, filter := x.at(0), x.at(1)
	dims := filter.dims()
	if len(dims) < 3 || len(dims) > 5 || slices.Contains(dims, -1) || slices.Contains(dims, 0) {
		refuse("the shape of the filter has to be known, of rank 3 to 5: got %v", dims)
	}
	if k := x.intList("kernel_shape", dims[2:]); !slices.Equal(k, dims[2:]) {
		refuse("kernel_shape %v for filters of shape %v", k, dims)
	}
	groups := x.int("group", 1)
	if groups < 1 || groups > dims[0] || dims[0]%groups != 0 {
		refuse("%d groups of %d inputs", groups, dims[0])
	}
	image = x.images(image, len(dims), dims[0])
	w := x.window(dims[2:])
	more := x.intList("output_padding", make([]int, w.n))
	sizes := sizesOf(image)
	if len(more) != w.n {
		refuse("output_padding %v", more)
	}
	if want := x.intList("output_shape", nil); want != nil || w.same {
		w = transposedPads(w, more, want, sizes)
	}
	u := x.channelsLast(image)
	if w.n == 1 {
		u, filter = x.op(ops.ExpandDims, nil, u, x.i32(1)), x.reshape(filter, dims[0], dims[1], 1, dims[2])
		w, more, dims = w.lifted(), []int{0, more[0]}, []int{dims[0], dims[1], 1, dims[2]}
	}
	y := x.inGroups(groups, u, filter, w.n+1, 0, func(u, filter *value) *value { return x.backward(u, filter, w, more, dims[1]) })
	if len(filter.dims()) == 4 && image.rank() == 3 {
		y = x.op(ops.Squeeze, graph.Attrs{"squeeze_dims": []int64{1}}, y)
	}
	if x.has(2) {
		y = x.op(ops.BiasAdd, nil, y, x.at(2))
	}
	return x.channelsFirst(y)
}

// transposedPads sets the padding for a result with the wanted sizes or, with SAME, stride times the image's sizes.
func transposedPads(w windowed, more, want, sizes []int) windowed {
	if sizes == nil || slices.Contains(sizes, -1) {
		refuse("output_shape and auto_pad of images whose sizes are not known")
	}
	w.before, w.after = make([]int, w.n), make([]int, w.n)
	for i := range w.n {
		out := sizes[i] * w.strides[i]
		if want != nil {
			out = want[len(want)-w.n+i]
		}
		total := (sizes[i]-1)*w.strides[i] + more[i] + w.extent(i) - out
		if total < 0 {
			more[i], total = more[i]-total, 0
		}
		w.before[i], w.after[i] = total/2, total-total/2
		if !w.same || w.sameLower { // only SAME_UPPER puts the smaller half first
			w.before[i], w.after[i] = w.after[i], w.before[i]
		}
	}
	w.same = false
	return w
}

// backward is the gradient of a convolution with respect to its images, which is a transposed convolution. The full result is then cropped.
func (x *site) backward(u, filter *value, w windowed, more []int, outputs int) *value {
	shape := []*value{x.size(u, 0)}
	for i := range w.n {
		// (size-1)*stride + extent, before cropping
		n := x.each(ops.Mul, nil, x.each(ops.Sub, nil, x.size(u, i+1), x.i32(1)), x.i32(w.strides[i]))
		shape = append(shape, x.each(ops.AddV2, nil, n, x.i32(w.extent(i))))
	}
	shape = append(shape, x.i32(outputs))
	d := ops.Conv2DBackpropInput
	if w.n == 3 {
		d = ops.Conv3DBackpropInputV2
	}
	attrs := graph.Attrs{"strides": listed(w.strides), "dilations": listed(w.dilations), "padding": []byte("VALID")}
	perm := append(without(w.n+2, 0, 1), 1, 0) // [sizes..., outputs, inputs]
	y := x.op(d, attrs, x.pack(shape...), x.transpose(filter, perm), u)
	cut := w
	cut.before, cut.after = make([]int, w.n), make([]int, w.n)
	for i := range w.n {
		cut.before[i], cut.after[i] = -w.before[i], more[i]-w.after[i]
	}
	if cut.padded() {
		y = x.padLast(y, cut, 0)
	}
	return y
}
