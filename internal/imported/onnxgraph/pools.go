package onnxgraph

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// poolOperators reduce windows of images.
var poolOperators = operators{
	"MaxPool":           as(maxPool).but("auto_pad SAME_LOWER, with dilations or with indices, of images whose sizes are open; dilated windows, or indices, of more than 128 elements"),
	"AveragePool":       one(averagePool).but("auto_pad SAME_LOWER, with dilations or with count_include_pad, of images whose sizes are open"),
	"LpPool":            one(lpPool).but("auto_pad of images whose sizes are open"),
	"GlobalAveragePool": one(global(ops.Mean)), "GlobalMaxPool": one(global(ops.Max)), "GlobalLpPool": one(globalLpPool),
}

// pooled applies f to images or volumes with channels last, and the window for them.
func (x *site) pooled(w windowed, f func(u *value, w windowed) *value) *value {
	u := x.channelsLast(x.at(0))
	if w.n > 3 {
		refuse("windows in %d directions", w.n)
	}
	if w.n != 1 {
		return x.channelsFirst(x.begun(f(u, w), u, w))
	}
	y := f(x.op(ops.ExpandDims, nil, u, x.i32(1)), w.lifted())
	return x.channelsFirst(x.begun(x.op(ops.Squeeze, graph.Attrs{"squeeze_dims": []int64{1}}, y), u, w))
}

// begun removes last windows that begin beyond the image, if its sizes are open: see dropping.
func (x *site) begun(y, u *value, w windowed) *value {
	if !w.ceil || w.same {
		return y
	}
	for i := range w.n {
		if dims := u.dims(); dims != nil && dims[i+1] >= 0 || w.after[i] < 1 && w.strides[i] <= w.extent(i) {
			continue
		}
		most := x.op(ops.TruncateDiv, nil, x.op(ops.AddV2, nil, x.size(u, i+1), x.i32(w.before[i]+w.strides[i]-1)), x.i32(w.strides[i]))
		size := slices.Repeat([]*value{x.i32(-1)}, w.n+2)
		size[i+1] = x.op(ops.Minimum, nil, x.size(y, i+1), most)
		y = x.op(ops.Slice, nil, y, x.ints(make([]int, w.n+2)...), x.pack(size...))
	}
	return y
}

// poolWindow reads a pool's window.
func (x *site) poolWindow() windowed {
	kernel := x.intList("kernel_shape", nil)
	if image := x.images(x.at(0), len(kernel)+2, -1); len(kernel) == 0 || len(kernel) != image.rank()-2 {
		refuse("kernel_shape %v for rank %d", kernel, image.rank())
	}
	w := x.window(kernel).settle(sizesOf(x.at(0)))
	w.ceil = x.flag("ceil_mode", false)
	return w.dropping(sizesOf(x.at(0)))
}

// dropping removes the padding for a last window that would begin beyond the image, if the sizes are known: there is no such window.
func (w windowed) dropping(sizes []int) windowed {
	if !w.ceil || sizes == nil || w.same {
		return w
	}
	w.after = slices.Clone(w.after)
	for i := range w.n {
		rest := sizes[i] + w.before[i] + w.after[i] - w.extent(i)
		if sizes[i] < 0 || rest < 0 {
			continue
		}
		last := (rest + w.strides[i] - 1) / w.strides[i] * w.strides[i] // where the last window begins
		if last >= sizes[i]+w.before[i] {
			w.after[i] -= rest - (last - w.strides[i])
		}
	}
	return w
}

// partial adds padding to complete the last window, if that counts; how much of it is needed depends on the sizes.
func (w windowed) partial() windowed {
	if !w.ceil {
		return w
	}
	w.after = slices.Clone(w.after)
	for i := range w.n {
		w.after[i] += w.strides[i] - 1
	}
	w.ceil = false
	return w
}

func maxPool(x *site) []*value {
	columns := x.flag("storage_order", false)
	w := x.poolWindow()
	if len(x.n.Outputs) > 1 && x.n.Outputs[1] != "" {
		return x.maxPoolIndices(w, columns)
	}
	y := x.pooled(w, func(u *value, w windowed) *value {
		w = w.partial()
		if !allOnes(w.dilations) {
			return x.shifted(u, w, ops.Maximum, lowest(u.dtype))
		}
		low, from := lowest(u.dtype), u.dtype
		if ofBytes(u) { // programs only have pools of floats
			u = x.cast(u, tensor.Float32)
		}
		if w.n == 3 && w.padded() || w.negative() || w.beyond() {
			u = x.padLast(u, w, low)
			w.before, w.after = make([]int, w.n), make([]int, w.n)
		}
		attrs := w.attrs()
		attrs["ksize"] = listed(w.kernel)
		if w.n == 3 {
			return x.cast(x.op(ops.MaxPool3D, attrs, u), from)
		}
		return x.cast(x.op(ops.MaxPool, attrs, u), from)
	})
	return []*value{y}
}

// beyond reports whether some padding is as large as the window, which TensorFlow's op does not support.
func (w windowed) beyond() bool {
	for i, k := range w.kernel {
		if !w.same && max(w.before[i], w.after[i]) >= k {
			return true
		}
	}
	return false
}

// lowest returns the smallest number of a type.
func lowest(d tensor.DType) float64 {
	switch d {
	case tensor.Int8:
		return math.MinInt8
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		return 0
	case tensor.Int16:
		return math.MinInt16
	case tensor.Int32:
		return math.MinInt32
	case tensor.Int64:
		return math.MinInt64
	}
	return math.Inf(-1)
}

// maxShifted bounds the elements of a dilated pool's window.
const maxShifted = 128

// shifted is a dilated pool: d combines images shifted by each offset in the window, with a number around them.
func (x *site) shifted(u *value, w windowed, d *ops.Def, around float64) *value {
	u = x.padLast(u, w, around)
	var y *value
	x.shifts(w, func(shift func(v *value) *value) {
		if v := shift(u); y == nil {
			y = v
		} else {
			y = x.op(d, nil, y, v)
		}
	})
	return y
}

// shifts calls f for each offset in the window, with a function that takes that element of each window from padded images.
func (x *site) shifts(w windowed, f func(shift func(v *value) *value)) {
	if n := product(w.kernel); n > maxShifted {
		refuse("dilated windows, or indices, of %d elements: expected at most %d", n, maxShifted)
	}
	if w.same {
		refuse("auto_pad with dilations or indices, of images whose sizes are not known")
	}
	at := make([]int, w.n)
	for {
		begin, end, step := []int{0}, []int{0}, []int{1}
		mask := int64(1 | 1<<(w.n+1))
		for i, k := range at {
			from, left := k*w.dilations[i], (w.kernel[i]-1-k)*w.dilations[i]
			begin, end, step = append(begin, from), append(end, -left), append(step, w.strides[i])
			if left == 0 {
				mask |= 1 << (i + 1)
			}
		}
		begin, end, step = append(begin, 0), append(end, 0), append(step, 1)
		f(func(v *value) *value {
			return x.op(ops.StridedSlice, graph.Attrs{"end_mask": mask}, v, x.ints(begin...), x.ints(end...), x.ints(step...))
		})
		i := w.n - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < w.kernel[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

func product(list []int) int {
	n := 1
	for _, v := range list {
		if v > 0 && n > math.MaxInt32/v {
			return math.MaxInt32
		}
		n *= v
	}
	return n
}

func averagePool(x *site) *value {
	w := x.poolWindow()
	include := x.flag("count_include_pad", false)
	return x.pooled(w, func(u *value, w windowed) *value { return x.average(u, w, include) })
}

// average counts the padding or not; it never counts what completes the last window.
func (x *site) average(u *value, w windowed, include bool) *value {
	if w.same && include {
		refuse("auto_pad with count_include_pad, of images whose sizes are not known")
	}
	if w.same || !w.padded() && !w.ceil {
		return x.avg(u, w)
	}
	whole := w.partial()
	total := x.avg(x.padLast(u, whole, 0), unpadded(w))
	if include && !w.ceil {
		return total
	}
	inside := x.ones(u, w.n)
	if include {
		inside = x.padLast(inside, w, 1)
		whole.before, whole.after = make([]int, w.n), slices.Clone(whole.after)
		for i := range w.n {
			whole.after[i] -= w.after[i]
		}
	}
	return x.op(ops.RealDiv, nil, total, x.avg(x.padLast(inside, whole, 0), unpadded(w)))
}

func unpadded(w windowed) windowed {
	w.before, w.after, w.ceil = make([]int, w.n), make([]int, w.n), false
	return w
}

// ones is an image of ones with one channel.
func (x *site) ones(u *value, n int) *value {
	shape := []*value{x.i32(1)}
	for i := range n {
		shape = append(shape, x.size(u, i+1))
	}
	return x.op(ops.Fill, nil, x.pack(append(shape, x.i32(1))...), x.scalar(u.dtype, 1))
}

// avg returns the mean of each window.
func (x *site) avg(u *value, w windowed) *value {
	if !allOnes(w.dilations) {
		return x.times(x.shifted(u, w, ops.AddV2, 0), 1/float64(product(w.kernel)))
	}
	attrs := w.attrs()
	attrs["ksize"] = listed(w.kernel)
	if w.n == 3 {
		return x.op(ops.AvgPool3D, attrs, u)
	}
	return x.op(ops.AvgPool, attrs, u)
}

// lpPool returns the p-norm of each window.
func lpPool(x *site) *value {
	p := float64(x.int("p", 2))
	w := x.poolWindow()
	return x.pooled(w, func(u *value, w windowed) *value {
		if w.same {
			refuse("auto_pad of images whose sizes are not known")
		}
		powers := x.op(ops.Pow, nil, x.op(ops.Abs, nil, u), x.scalar(u.dtype, p))
		sums := x.times(x.avg(x.padLast(powers, w.partial(), 0), unpadded(w)), float64(product(w.kernel)))
		return x.op(ops.Pow, nil, sums, x.scalar(u.dtype, 1/p))
	})
}

// global reduces all spatial dimensions of images.
func global(d *ops.Def) func(x *site) *value {
	return func(x *site) *value {
		u := x.channelsLast(x.at(0))
		return x.channelsFirst(x.op(d, graph.Attrs{"keep_dims": true}, u, x.ints(without(u.rank(), 0, u.rank()-1)...)))
	}
}

func globalLpPool(x *site) *value {
	p := float64(x.int("p", 2))
	u := x.channelsLast(x.at(0))
	powers := x.op(ops.Pow, nil, x.op(ops.Abs, nil, u), x.scalar(u.dtype, p))
	sums := x.op(ops.Sum, graph.Attrs{"keep_dims": true}, powers, x.ints(without(u.rank(), 0, u.rank()-1)...))
	return x.channelsFirst(x.op(ops.Pow, nil, sums, x.scalar(u.dtype, 1/p)))
}
