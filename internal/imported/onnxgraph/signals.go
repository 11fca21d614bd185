package onnxgraph

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// signalOperators are Fourier transforms, and operators used before and after them.
var signalOperators = operators{
	"DFT": one(dft), "STFT": one(stft), "MelWeightMatrix": one(melWeights).but("inputs that are not constant"),
	"HannWindow": one(window(0.5, 0.5, 0)), "HammingWindow": one(window(25.0/46, 21.0/46, 0)), "BlackmanWindow": one(window(0.42, 0.5, 0.08)),
}

// window is a - b*cos(t) + c*cos(2t), for t over a full turn.
func window(a, b, c float64) func(x *site) *value {
	return func(x *site) *value {
		n := x.narrow(x.op(ops.Reshape, nil, x.at(0), x.ints()))
		around := x.cast(n, tensor.Float64)
		if !x.flag("periodic", true) {
			around = x.plus(around, -1)
		}
		t := x.op(ops.RealDiv, nil, x.times(x.cast(x.op(ops.Range, nil, x.i32(0), n, x.i32(1)), tensor.Float64), 2*math.Pi), around)
		y := x.op(ops.Sub, nil, x.scalar(tensor.Float64, a), x.times(x.op(ops.Cos, nil, t), b))
		if c != 0 {
			y = x.op(ops.AddV2, nil, y, x.times(x.op(ops.Cos, nil, x.times(t, 2)), c))
		}
		return x.cast(y, x.dtype("output_datatype", tensor.Float32))
	}
}

// parts returns the real and imaginary parts of numbers whose last axis has one or both, and their complex type.
func (x *site) parts(u *value) (re, im *value, to tensor.DType) {
	dims := u.dims()
	rank := len(dims)
	if rank < 2 || dims[rank-1] != 1 && dims[rank-1] != 2 {
		refuse("a signal of shape %v: expected a last axis of 1 or 2, for real or complex numbers", dims)
	}
	to = tensor.Complex64
	if u.dtype == tensor.Float64 {
		to = tensor.Complex128
	} else {
		u = x.cast(u, tensor.Float32)
	}
	re = x.op(ops.GatherV2, nil, u, x.i32(0), x.i32(rank-1))
	if dims[rank-1] == 1 {
		return re, x.op(ops.ZerosLike, nil, re), to
	}
	return re, x.op(ops.GatherV2, nil, u, x.i32(1), x.i32(rank-1)), to
}

// realType has the type of the parts of complex numbers.
var realType = map[tensor.DType]tensor.DType{tensor.Complex64: tensor.Float32, tensor.Complex128: tensor.Float64}

// fourier is the Fourier transform along the last axis: all of it, or the first n/2+1 numbers. It returns both parts.
func (x *site) fourier(re, im *value, to tensor.DType, inverse, oneSided bool) (real, imaginary *value) {
	d := ops.FFT
	if inverse {
		d = ops.IFFT
	}
	y := x.op(d, nil, x.op(ops.Complex, graph.Attrs{"Tout": to}, re, im))
	out := graph.Attrs{"Tout": realType[to]}
	real, imaginary = x.op(ops.Real, out, y), x.op(ops.Imag, out, y)
	if oneSided {
		last := re.rank() - 1
		half := x.op(ops.AddV2, nil, x.op(ops.TruncateDiv, nil, x.size(re, last), x.i32(2)), x.i32(1))
		real, imaginary = x.fitted(real, last, half), x.fitted(imaginary, last, half)
	}
	return real, imaginary
}

// fitted crops an axis to n elements, or pads it with zeros.
func (x *site) fitted(u *value, axis int, n *value) *value {
	take := x.op(ops.Minimum, nil, x.size(u, axis), n)
	return x.cutAndPut(u, axis, x.i32(0), take, x.i32(0), x.op(ops.Sub, nil, n, take))
}

// cutAndPut takes elements of an axis from an index on, and pads with zeros before and after them.
func (x *site) cutAndPut(u *value, axis int, from, take, before, behind *value) *value {
	rank, dims := u.rank(), slices.Clone(u.dims())
	dims[axis] = -1
	var begin, size, pads []*value
	for i := range rank {
		if i == axis {
			begin, size, pads = append(begin, from), append(size, take), append(pads, before, behind)
			continue
		}
		begin, size, pads = append(begin, x.i32(0)), append(size, x.i32(-1)), append(pads, x.i32(0), x.i32(0))
	}
	y := x.op(ops.Slice, nil, u, x.pack(begin...), x.pack(size...))
	return x.sized(x.op(ops.PadV2, nil, y, x.reshape(x.pack(pads...), rank, 2), constant(tensor.New(u.dtype))), dims)
}

// inverseOfHalf returns the n real numbers from the first half of their transform; n is even if it is not given.
func (x *site) inverseOfHalf(re, im *value, to tensor.DType, n *value) *value {
	if n == nil {
		n = x.op(ops.Mul, nil, x.op(ops.Sub, nil, x.size(re, re.rank()-1), x.i32(1)), x.i32(2))
	}
	z := x.op(ops.Complex, graph.Attrs{"Tout": to}, re, im)
	return x.sized(x.op(ops.IRFFT, graph.Attrs{"Treal": realType[to]}, z, x.reshape(n, 1)), slices.Repeat([]int{-1}, re.rank()))
}

// dft has its axis as an attribute before version 20.
func dft(x *site) *value {
	u, rank := x.at(0), x.rank(0)
	axis := -2
	if x.version < 20 {
		axis = x.int("axis", 1)
	} else if at := x.knownInts(2); len(at) == 1 {
		axis = at[0]
	}
	if axis = axisOf(axis, rank); axis == rank-1 {
		refuse("axis %d of rank %d: the last one has the parts of numbers", axis, rank)
	}
	backwards, oneSided := x.flag("inverse", false), x.flag("onesided", false)
	var n *value
	if x.has(1) {
		n = x.narrow(x.op(ops.Reshape, nil, x.at(1), x.ints()))
	}
	perm := append(without(rank-1, axis), axis)
	back := inverse(perm)
	if backwards && oneSided {
		re, im, to := x.parts(u)
		y := x.inverseOfHalf(x.transpose(re, perm), x.transpose(im, perm), to, n)
		return x.cast(x.op(ops.ExpandDims, nil, x.transpose(y, back), x.i32(-1)), u.dtype)
	}
	if n != nil {
		u = x.fitted(u, axis, n)
	}
	re, im, to := x.parts(u)
	real, imaginary := x.fourier(x.transpose(re, perm), x.transpose(im, perm), to, backwards, oneSided)
	y := x.op(ops.Pack, graph.Attrs{"axis": int64(rank - 1)}, x.transpose(real, back), x.transpose(imaginary, back))
	return x.cast(y, x.at(0).dtype)
}

// stft transforms frames of a signal [batch, length, 1 or 2], multiplied by a window. Like ONNX Runtime it also takes real signals [batch, length].
func stft(x *site) *value {
	u := x.at(0)
	switch u.rank() {
	case 2:
		u = x.op(ops.ExpandDims, nil, u, x.i32(-1))
	case 3:
	default:
		refuse("a signal of rank %d (-1: not known): expected 2 or 3", u.rank())
	}
	step := x.narrow(x.op(ops.Reshape, nil, x.at(1), x.ints()))
	var size *value
	switch {
	case x.has(3):
		size = x.narrow(x.op(ops.Reshape, nil, x.at(3), x.ints()))
	case x.has(2):
		size = x.size(x.at(2), 0)
	default:
		refuse("expected a window or the length of frames")
	}
	re, im, to := x.parts(u)
	steps := func(n *value) *value { return x.op(ops.Range, nil, x.i32(0), n, x.i32(1)) }
	frames := x.op(ops.AddV2, nil, x.op(ops.TruncateDiv, nil, x.op(ops.Sub, nil, x.size(u, 1), size), step), x.i32(1))
	starts := x.op(ops.ExpandDims, nil, x.op(ops.Mul, nil, steps(frames), step), x.i32(1))
	at := x.op(ops.AddV2, nil, starts, x.op(ops.ExpandDims, nil, steps(size), x.i32(0)))
	at = x.sized(at, []int{-1, -1})
	cut := func(v *value) *value {
		v = x.op(ops.GatherV2, nil, v, at, x.i32(1))
		if x.has(2) {
			v = x.op(ops.Mul, nil, v, x.cast(x.at(2), v.dtype))
		}
		return v
	}
	real, imaginary := x.fourier(cut(re), cut(im), to, false, x.flag("onesided", true))
	return x.cast(x.op(ops.Pack, graph.Attrs{"axis": int64(3)}, real, imaginary), u.dtype)
}

// melWeights are triangles over the bins of a spectrum, of equal width in mel.
func melWeights(x *site) *value {
	number := func(i int) float64 {
		v, ok := constantOf(x.at(i))
		if !ok {
			refuse("input %d (%s) has to be a constant", i, x.n.Inputs[i])
		}
		return v
	}
	bands, length, rate, low, high := int(number(0)), int(number(1)), number(2), number(3), number(4)
	if bands < 1 || bands > 1<<16 || length < 1 || length > 1<<24 || !(rate > 0) || !(low >= 0) || !(high >= low) || high > 1e9 {
		refuse("%d bands of %d samples at %v a second from %v to %v", bands, length, rate, low, high)
	}
	bins := length/2 + 1
	mel := func(hertz float64) float64 { return 2595 * math.Log10(1+hertz/700) }
	edges := make([]int, bands+2)
	for i := range edges {
		m := mel(low) + float64(i)*(mel(high)-mel(low))/float64(bands+2)
		if edges[i] = int(math.Floor(float64(length+1) * (700 * (math.Pow(10, m/2595) - 1)) / rate)); edges[i] < 0 || edges[i] >= bins {
			refuse("a band to bin %d: expected at most %d", edges[i], bins-1)
		}
	}
	x.t.pay(8 * bins * bands)
	y := tensor.New(tensor.Float64, bins, bands)
	all := tensor.Values[float64](y)
	for i := range bands {
		from, middle, to := edges[i], edges[i+1], edges[i+2]
		for k := from; k < middle; k++ {
			all[k*bands+i] = float64(k-from) / float64(middle-from)
		}
		all[middle*bands+i] = 1
		for k := middle; k < to; k++ {
			all[k*bands+i] = float64(to-k) / float64(to-middle)
		}
	}
	return x.cast(constant(y), x.dtype("output_datatype", tensor.Float32))
}
