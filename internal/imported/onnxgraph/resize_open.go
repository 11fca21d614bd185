package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// openResize has what only a request gives: sizes or scales, whichever the node has, and regions.
type openResize struct{ sizes, scales, roi *value }

// settle sets the open size and scale of axis a, element i of the lists. Both are computed in float32, as in ONNX Runtime.
func (o openResize) settle(x *site, u *value, r *resizing, i, a int) {
	in := x.cast(x.size(u, a), tensor.Float32)
	switch {
	case r.out >= 0 && o.sizes == nil && o.scales == nil:
		r.openOut = x.i32(r.out)
	case o.sizes == nil && o.scales == nil && r.scale == 0:
		r.openOut = x.size(u, a)
	case o.sizes != nil:
		r.openOut = x.narrow(x.item(o.sizes, i))
	case o.scales != nil:
		r.openScale = x.cast(x.item(o.scales, i), tensor.Float32)
	default:
		r.openScale = x.scalar(tensor.Float32, r.scale)
	}
	if r.openScale == nil {
		r.openScale = x.op(ops.RealDiv, nil, x.cast(r.openOut, tensor.Float32), in)
		return
	}
	r.openOut = x.cast(x.op(ops.Floor, nil, x.op(ops.Mul, nil, in, r.openScale)), tensor.Int32)
}

// alongOpenAxis resizes one axis whose sizes or region are open: it sums the weighted elements around each position. mask marks results
// outside the image.
func (x *site) alongOpenAxis(u *value, r resizing, axis int) (y, mask *value) {
	if r.antialias || r.exclude {
		refuse("antialias, or exclude_outside, of images of open sizes: sizes and regions have to be constant")
	}
	at := x.openCoordinate(r, x.cast(x.size(u, axis), tensor.Float32))
	top := x.op(ops.Sub, nil, x.size(u, axis), x.i32(1))
	taken := func(at *value) *value {
		at = x.op(ops.Maximum, nil, x.op(ops.Minimum, nil, x.cast(at, tensor.Int32), top), x.i32(0))
		return x.op(ops.GatherV2, nil, u, at, x.i32(axis))
	}
	shape := slices.Repeat([]int{1}, u.rank()-axis)
	shape[0] = -1
	if r.coordinates == regions {
		mask = x.op(ops.LogicalOr, nil, x.op(ops.Less, nil, at, x.scalar(tensor.Float32, 0)), x.op(ops.Greater, nil, at, x.cast(top, tensor.Float32)))
		mask = x.reshape(mask, shape...)
	}
	if r.mode == "nearest" {
		return taken(x.openRounded(r, at)), mask
	}
	low := x.op(ops.Floor, nil, at)
	part := x.op(ops.Sub, nil, at, low)
	for k, w := range x.openTaps(r, part) {
		step := float64(k)
		if r.mode == "cubic" {
			step--
		}
		term := x.op(ops.Mul, nil, taken(x.plus(low, step)), x.reshape(x.cast(w, u.dtype), shape...))
		if y == nil {
			y = term
		} else {
			y = x.op(ops.AddV2, nil, y, term)
		}
	}
	return y, mask
}

// openTaps returns the weights of the elements around a position, beginning one step before it if the mode is cubic.
func (x *site) openTaps(r resizing, part *value) []*value {
	switch r.mode {
	case "linear", "bilinear":
		return []*value{x.op(ops.Sub, nil, x.scalar(tensor.Float32, 1), part), part}
	case "cubic":
	default:
		refuse("mode %s", r.mode)
	}
	polynomial := func(t *value, c ...float64) *value { // the highest power first
		y := x.scalar(tensor.Float32, c[0])
		for _, v := range c[1:] {
			y = x.plus(x.op(ops.Mul, nil, y, t), v)
		}
		return y
	}
	a := r.cubic
	far := func(t *value) *value { return polynomial(t, a, -5*a, 8*a, -4*a) }
	near := func(t *value) *value { return polynomial(t, a+2, -(a + 3), 0, 1) }
	rest := x.op(ops.Sub, nil, x.scalar(tensor.Float32, 1), part)
	return []*value{far(x.plus(part, 1)), near(part), near(rest), far(x.plus(rest, 1))}
}

// openCoordinate returns the vector of positions in the input for the elements of the result.
func (x *site) openCoordinate(r resizing, in *value) *value {
	i := x.cast(x.op(ops.Range, nil, x.i32(0), r.openOut, x.i32(1)), tensor.Float32)
	out, one := x.cast(r.openOut, tensor.Float32), x.scalar(tensor.Float32, 1)
	div := func(a, b *value) *value { return x.op(ops.RealDiv, nil, a, b) }
	half := func() *value { return x.plus(div(x.plus(i, 0.5), r.openScale), -0.5) }
	several := x.op(ops.Greater, nil, out, one)
	orZero := func(at *value) *value { return x.op(ops.SelectV2, nil, several, at, x.scalar(tensor.Float32, 0)) }
	switch r.coordinates {
	case "half_pixel":
		return half()
	case "half_pixel_symmetric":
		center := x.times(in, 0.5)
		adjust := div(out, x.op(ops.Mul, nil, r.openScale, in))
		return x.op(ops.AddV2, nil, x.op(ops.Mul, nil, center, x.op(ops.Sub, nil, one, adjust)), half())
	case "pytorch_half_pixel":
		return orZero(half())
	case "align_corners":
		last := x.op(ops.Maximum, nil, x.plus(out, -1), one)
		return orZero(div(x.op(ops.Mul, nil, i, x.plus(in, -1)), last))
	case "asymmetric":
		return div(i, r.openScale)
	case "tf_half_pixel_for_nn":
		return div(x.plus(i, 0.5), r.openScale)
	case regions:
		return x.openRegion(r, i, x.plus(in, -1), x.plus(out, -1))
	}
	refuse("coordinate_transformation_mode %s of images of open sizes", r.coordinates)
	return nil
}

// unlessKept replaces the regions of all axes by the whole image if no size changes: ONNX Runtime then returns the image. If that is so
// for all requests, no axes are left.
func (x *site) unlessKept(u *value, all []resizing, at []int) ([]resizing, []int) {
	if slices.ContainsFunc(all, func(r resizing) bool { return r.in >= 0 && r.out >= 0 && r.in != r.out }) {
		return all, at
	}
	var kept *value
	for i, r := range all {
		if r.in >= 0 && r.out >= 0 {
			continue
		}
		same := x.op(ops.Equal, nil, x.size(u, at[i]), r.openOut)
		if kept == nil {
			kept = same
		} else {
			kept = x.op(ops.LogicalAnd, nil, kept, same)
		}
	}
	if kept == nil {
		return nil, nil
	}
	for i := range all {
		r := &all[i]
		from, to := r.region(x)
		if r.openOut == nil {
			openResize{}.settle(x, u, r, i, at[i])
		}
		r.openFrom = x.op(ops.SelectV2, nil, kept, x.scalar(tensor.Float32, 0), from)
		r.openTo = x.op(ops.SelectV2, nil, kept, x.scalar(tensor.Float32, 1), to)
	}
	return all, at
}

// region returns where the elements of a result begin and end.
func (r *resizing) region(x *site) (from, to *value) {
	if r.openFrom != nil {
		return r.openFrom, r.openTo
	}
	return x.scalar(tensor.Float32, r.from), x.scalar(tensor.Float32, r.to)
}

// openRegion returns the positions of elements i of a result that spans a region, or is in its middle if it has one element.
// in and out are the last positions of both.
func (x *site) openRegion(r resizing, i, in, out *value) *value {
	from, to := r.region(x)
	times := func(a, b *value) *value { return x.op(ops.Mul, nil, a, b) }
	step := x.op(ops.RealDiv, nil, times(times(i, x.op(ops.Sub, nil, to, from)), in), x.op(ops.Maximum, nil, out, x.scalar(tensor.Float32, 1)))
	several := x.op(ops.AddV2, nil, times(from, in), step)
	middle := times(x.times(x.op(ops.AddV2, nil, from, to), 0.5), in)
	return x.op(ops.SelectV2, nil, x.op(ops.Greater, nil, out, x.scalar(tensor.Float32, 0)), several, middle)
}

// openRounded rounds positions to whole ones.
func (x *site) openRounded(r resizing, at *value) *value {
	switch r.nearest {
	case "floor":
		return x.op(ops.Floor, nil, at)
	case "ceil":
		return x.op(ops.Ceil, nil, at)
	case "round_prefer_floor":
		return x.op(ops.Ceil, nil, x.plus(at, -0.5))
	case "round_prefer_ceil":
		return x.op(ops.Floor, nil, x.plus(at, 0.5))
	}
	refuse("nearest_mode %s", r.nearest)
	return nil
}
