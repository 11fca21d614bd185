package onnxgraph

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// resizeOperators resize images.
var resizeOperators = operators{
	"Resize":   one(resize).but("images of open sizes, or of regions that are not constant, with antialias, exclude_outside or keep_aspect_ratio_policy"),
	"Upsample": one(resize),
}

// regions is the coordinate_transformation_mode that crops regions.
const regions = "tf_crop_and_resize"

// resizing says how one axis is resized.
type resizing struct {
	mode, coordinates, nearest string
	cubic                      float64
	exclude, antialias         bool
	extrapolation              float64
	in, out                    int // sizes; -1: open
	scale, from, to            float64
	openOut, openScale         *value // if something is open: the size and the scale; nil if all is known
	openFrom, openTo           *value // the region, if it is not constant
	outer                      bool   // a batch or channel axis
}

// resize resizes each axis by itself.
func resize(x *site) *value {
	u, rank := x.at(0), x.rank(0)
	r := resizing{mode: x.str("mode", "nearest"), coordinates: x.str("coordinate_transformation_mode", "half_pixel"), nearest: x.str("nearest_mode", "round_prefer_floor"),
		cubic: x.float("cubic_coeff_a", -0.75), exclude: x.flag("exclude_outside", false), antialias: x.flag("antialias", false), extrapolation: x.float("extrapolation_value", 0)}
	if x.version < 11 {
		r.coordinates, r.nearest = "asymmetric", "floor"
	}
	axes := axesOf(x.intList("axes", without(rank)), rank)
	scales, sizes, roi, open := x.resizeInputs(axes)
	dims := u.dims()
	if dims == nil {
		dims = slices.Repeat([]int{-1}, rank)
	}
	sizes = keptAspect(x.str("keep_aspect_ratio_policy", "stretch"), sizes, dims, axes)
	var all []resizing
	var at []int
	for i, a := range axes {
		one := r
		one.in, one.outer = dims[a], a < rank-2
		switch {
		case open.roi != nil:
			one.openFrom, one.openTo = x.cast(x.item(open.roi, i), tensor.Float32), x.cast(x.item(open.roi, len(axes)+i), tensor.Float32)
		case len(roi) == 2*len(axes):
			one.from, one.to = roi[i], roi[len(axes)+i]
		}
		if !one.sized(i, scales, sizes, len(axes)) {
			continue
		}
		if one.in < 0 || one.out < 0 || open.roi != nil {
			settled := open
			if one.out >= 0 {
				settled = openResize{}
			}
			settled.settle(x, u, &one, i, a)
		}
		all, at = append(all, one), append(at, a)
	}
	if r.coordinates == regions {
		all, at = x.unlessKept(u, all, at)
	}
	if len(all) == 0 {
		return u
	}
	return x.resized(u, all, at)
}

// keptAspect returns the sizes that keep the aspect ratio.
func keptAspect(policy string, sizes, dims, axes []int) []int {
	if policy == "stretch" || sizes == nil {
		return sizes
	}
	scale := float32(0)
	for i, a := range axes {
		if dims[a] < 1 || i >= len(sizes) || sizes[i] < 0 {
			refuse("keep_aspect_ratio_policy %s of images of open sizes: sizes have to be constant", policy)
		}
		s := float32(sizes[i]) / float32(dims[a])
		if i == 0 || policy == "not_larger" && s < scale || policy == "not_smaller" && s > scale {
			scale = s
		}
	}
	kept := make([]int, len(sizes))
	for i, a := range axes {
		kept[i] = int(math.Round(float64(scale * float32(dims[a]))))
	}
	return kept
}

// resizeInputs returns the scales or sizes, and the regions, which are inputs or attributes depending on the version. If scales or sizes
// are not known, they are in open; then sizes has -1 for axes that keep their size, and openSize for the others.
func (x *site) resizeInputs(axes []int) (scales []float64, sizes []int, roi []float64, open openResize) {
	switch {
	case x.version < 9 && x.n.Op == "Upsample":
		for _, s := range x.floatList("scales") {
			scales = append(scales, float64(s))
		}
	case x.version < 11:
		scales, open.scales = x.resizeScales(1)
	default:
		if x.str("coordinate_transformation_mode", "half_pixel") == regions {
			if x.has(1) && x.at(1).fixed() == nil && x.at(1).length() != 0 {
				open.roi = x.at(1)
			} else {
				roi = x.knownFloats(1)
			}
		}
		scales, open.scales = x.resizeScales(2)
		if len(scales) == 0 && open.scales == nil {
			sizes, open.sizes = x.resizeSizes(axes)
		}
	}
	if open.scales != nil {
		sizes = slices.Repeat([]int{openSize}, len(axes))
	}
	if len(scales) == 0 && len(sizes) == 0 {
		refuse("neither scales nor sizes")
	}
	return scales, sizes, roi, open
}

// resizeScales returns the scales in input i, or the input itself if they are not known.
func (x *site) resizeScales(i int) (scales []float64, open *value) {
	if !x.has(i) {
		return nil, nil
	}
	if v := x.at(i); v.fixed() == nil && v.length() != 0 {
		return nil, v
	}
	return x.knownFloats(i), nil
}

// openSize is a size known only from a request.
const openSize = -2

// resizeSizes returns the sizes in input 3. They are -1 for axes that keep any size, as in networks that take the batch size from
// their input, and openSize if only a request gives the size; then open is the input.
func (x *site) resizeSizes(axes []int) (sizes []int, open *value) {
	if !x.has(3) || x.at(3).fixed() != nil {
		return x.knownInts(3), nil
	}
	stays, same := slices.Repeat([]bool{true}, len(axes)), slices.Repeat([]bool{true}, len(axes))
	for p, k := range x.at(3).known {
		in := x.at(0).known[p]
		if !k.Known && !in.Known && x.at(3).knownTwice() && x.at(0).knownTwice() {
			continue // the model does not support these assumed sizes
		}
		if k.T == nil || !in.Known || k.T.Len() != len(axes) {
			return slices.Repeat([]int{openSize}, len(axes)), x.at(3)
		}
		list := intsOf(k.T)
		if sizes == nil {
			sizes = list
		}
		for i, n := range list {
			stays[i] = stays[i] && n == in.Shape[axes[i]]
			same[i] = same[i] && n == sizes[i]
		}
	}
	for i := range sizes {
		switch {
		case stays[i] && !same[i]:
			sizes[i] = -1
		case !same[i]:
			sizes[i], open = openSize, x.at(3)
		}
	}
	return sizes, open
}

// sized sets the sizes of axis i; it returns false if the axis does not change.
func (r *resizing) sized(i int, scales []float64, sizes []int, axes int) bool {
	if len(scales) > 0 {
		if len(scales) != axes || !(scales[i] > 0) || scales[i] > 1<<20 {
			refuse("scales %v for %d axes", scales, axes)
		}
		r.scale = scales[i]
		r.out = -1
		if r.in >= 0 {
			r.out = int(math.Floor(float64(r.in) * r.scale))
		}
		return r.scale != 1 || r.moves()
	}
	if len(sizes) == axes && sizes[i] == -1 && !r.moves() {
		return false
	}
	if len(sizes) == axes && (sizes[i] == openSize || sizes[i] == -1) {
		r.out = -1
		return true
	}
	if len(sizes) != axes || sizes[i] < 0 || sizes[i] > 1<<24 {
		refuse("sizes %v for %d axes", sizes, axes)
	}
	if r.out = sizes[i]; r.in < 0 {
		return true
	}
	r.scale = float64(float32(r.out) / float32(max(r.in, 1)))
	return r.out != r.in || r.moves()
}

// moves reports whether an axis may change although its size stays. When interpolating, ONNX Runtime ignores regions of batch and channels.
func (r *resizing) moves() bool {
	switch {
	case r.coordinates != regions:
		return false
	case r.openFrom != nil:
		return r.mode != "linear" || !r.outer
	}
	return r.from != 0 || r.to != 1
}

// whole reports whether an axis is scaled up by a whole number, so that its size does not matter.
func (r *resizing) whole() bool { return r.scale >= 1 && r.scale == math.Floor(r.scale) }

// repeats reports whether each element is simply repeated.
func (r *resizing) repeats() bool {
	if r.mode != "nearest" || !r.whole() {
		return false
	}
	return r.coordinates == "asymmetric" && r.nearest == "floor" || (r.coordinates == "half_pixel" || r.coordinates == "half_pixel_symmetric" || r.coordinates == "pytorch_half_pixel") &&
		(r.nearest == "round_prefer_floor" || r.nearest == "round_prefer_ceil")
}

// resized resizes axes one after the other, or images by TensorFlow's ops if these do the same.
func (x *site) resized(u *value, all []resizing, at []int) *value {
	if y := x.resizedImages(u, all, at); y != nil {
		return y
	}
	rank := u.rank()
	last := rank >= 3 && u.last != nil && !u.out.Valid() && u.t == nil
	y := u
	if last {
		y = u.last
		for i, a := range at {
			at[i] = lastAxis(a, rank)
		}
	}
	d := y.dtype
	if all[0].mode != "nearest" && d != tensor.Float64 {
		y = x.cast(y, tensor.Float32)
	}
	var outside []*value
	whole := all[0].antialias && y.dtype != d && !d.Float()
	if whole { // ONNX Runtime begins with the last axis, which matters as each axis is rounded
		slices.Reverse(all)
		slices.Reverse(at)
	}
	for i, r := range all {
		if r.openOut != nil {
			var mask *value
			if y, mask = x.alongOpenAxis(y, r, at[i]); mask != nil {
				outside = append(outside, mask)
			}
			y = x.sized(y, slices.Repeat([]int{-1}, rank))
			continue
		}
		var mask *value
		if y, mask = x.alongAxis(y, r, at[i]); mask != nil {
			outside = append(outside, mask)
		}
		if whole {
			y = x.rounded(y, d)
		}
	}
	for _, m := range outside {
		y = x.op(ops.SelectV2, nil, m, x.scalar(y.dtype, all[0].extrapolation), y)
	}
	if y = x.cast(y, d); last { // the cast drops fractions, as in ONNX Runtime
		return x.channelsFirst(y)
	}
	return y
}

// rounded returns the nearest integers, halves rounded up, within the limits of an 8- or 16-bit type.
func (x *site) rounded(y *value, d tensor.DType) *value {
	y = x.op(ops.Floor, nil, x.plus(y, 0.5))
	low, high := 0.0, math.Ldexp(1, 8*d.Size())-1
	if d == tensor.Int8 || d == tensor.Int16 || d == tensor.Int32 {
		low, high = -math.Ldexp(1, 8*d.Size()-1), math.Ldexp(1, 8*d.Size()-1)-1
	}
	if d.Size() > 2 { // float32 cannot hold their limits
		return y
	}
	return x.op(ops.Maximum, nil, x.op(ops.Minimum, nil, y, x.scalar(y.dtype, high)), x.scalar(y.dtype, low))
}

// resizedImages uses TensorFlow's ops for the two sizes of images; nil if they would do something else.
func (x *site) resizedImages(u *value, all []resizing, at []int) *value {
	if u.rank() != 4 || len(all) != 2 || at[0] != 2 || at[1] != 3 || !u.dtype.Float() {
		return nil
	}
	d, attrs := ops.ResizeNearestNeighbor, graph.Attrs{}
	for _, r := range all {
		if r.openOut != nil && r.scale == 0 {
			return nil
		}
		exact := r.in >= 0 && float64(r.in)*r.scale == float64(r.out) || r.whole()
		switch {
		case r.repeats():
		case r.mode == "linear" && exact && !r.antialias && (r.coordinates == "half_pixel" || r.coordinates == "pytorch_half_pixel" && (r.whole() || r.out > 1)):
			d, attrs = ops.ResizeBilinear, graph.Attrs{"half_pixel_centers": true, ops.Divides: true}
		case r.mode == "linear" && exact && !r.antialias && r.coordinates == "asymmetric":
			d, attrs = ops.ResizeBilinear, graph.Attrs{ops.Divides: true}
		case r.mode == "linear" && r.in >= 0 && !r.antialias && r.coordinates == "align_corners" && r.out > 1:
			d, attrs = ops.ResizeBilinear, graph.Attrs{"align_corners": true}
		default:
			return nil
		}
	}
	if d == ops.ResizeBilinear && u.dtype != tensor.Float32 {
		return nil
	}
	v := x.channelsLast(u)
	var size []*value
	for i, r := range all {
		if r.out >= 0 {
			size = append(size, x.i32(r.out))
		} else {
			size = append(size, x.op(ops.Mul, nil, x.size(v, i+1), x.i32(int(r.scale))))
		}
	}
	return x.channelsFirst(x.op(d, attrs, v, x.pack(size...)))
}

// maxTaps bounds the elements of the matrix that resizes one axis.
const maxTaps = 1 << 22

// alongAxis resizes one axis: it gathers elements, or multiplies by a matrix of weights. mask marks results outside the image.
func (x *site) alongAxis(u *value, r resizing, axis int) (y, mask *value) {
	if r.in < 0 || r.out < 0 || r.out > maxTaps/max(r.in, 1) {
		refuse("an axis of %d elements that becomes one of %d", r.in, r.out)
	}
	x.t.pay(4 * r.in * r.out)
	index := make([]int, r.out)
	weights := tensor.New(u.dtype, r.in, r.out)
	out := tensor.New(tensor.Bool, r.out)
	any := false
	for i := range r.out {
		at := r.coordinate(i)
		if r.coordinates == regions && (at < 0 || at > float64(r.in-1)) {
			out.Bytes[i], any = 1, true
		}
		if r.mode == "nearest" {
			index[i] = min(max(r.rounded(at), 0), r.in-1)
			continue
		}
		for k, w := range r.taps(at) {
			if u.dtype == tensor.Float64 {
				tensor.Values[float64](weights)[k*r.out+i] += w
			} else {
				tensor.Values[float32](weights)[k*r.out+i] += float32(w)
			}
		}
	}
	if any {
		shape := slices.Repeat([]int{1}, u.rank()-axis)
		shape[0] = r.out
		mask = x.reshape(constant(out), shape...)
	}
	if r.mode == "nearest" {
		return x.op(ops.GatherV2, nil, u, x.ints(index...), x.i32(axis)), mask
	}
	return x.multiplied(u, axis, constant(weights)), mask
}

// multiplied multiplies the vectors along an axis by a matrix.
func (x *site) multiplied(u *value, axis int, by *value) *value {
	rank := u.rank()
	perm := append(without(rank, axis), axis)
	return x.transpose(x.product(x.transpose(u, perm), by), inverse(perm))
}
