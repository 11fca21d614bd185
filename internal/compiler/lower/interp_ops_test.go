package lower

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

var opRef = map[string]func(n *graph.Node, in []array, out []int) array{}

func init() {
	opRef["Reshape"] = func(_ *graph.Node, in []array, out []int) array { return array{out, in[0].v} }
	opRef["Transpose"] = func(_ *graph.Node, in []array, out []int) array {
		perm, y, i := in[1].ints(), newArray(out...), 0
		each(out, func(ix []int) {
			src := make([]int, len(ix))
			for d, p := range perm {
				src[p] = ix[d]
			}
			y.v[i] = in[0].at(src)
			i++
		})
		return y
	}
	opRef["MatMul"] = func(n *graph.Node, in []array, out []int) array {
		return product2(in[0], in[1], n.Bool("transpose_a"), n.Bool("transpose_b"), out)
	}
	opRef["BatchMatMulV2"] = func(n *graph.Node, in []array, out []int) array {
		y := newArray(out...)
		r := len(out)
		a, b := in[0].shape[r-2]*in[0].shape[r-1], in[1].shape[r-2]*in[1].shape[r-1]
		size := out[r-2] * out[r-1]
		for i := range len(y.v) / size {
			m := product2(array{in[0].shape[r-2:], in[0].v[i*a : (i+1)*a]}, array{in[1].shape[r-2:], in[1].v[i*b : (i+1)*b]}, n.Bool("adj_x"), n.Bool("adj_y"), out[r-2:])
			copy(y.v[i*size:], m.v)
		}
		return y
	}
	opRef["Sum"] = func(_ *graph.Node, in []array, out []int) array {
		return reduceRef(in, out, 0, func(x, y float64) float64 { return x + y })
	}
	opRef["Max"] = func(_ *graph.Node, in []array, out []int) array { return reduceRef(in, out, math.Inf(-1), math.Max) }
	opRef["Shape"] = func(_ *graph.Node, in []array, out []int) array {
		y := newArray(out...)
		for i, d := range in[0].shape {
			y.v[i] = float64(d)
		}
		return y
	}
	opRef["Pack"] = func(_ *graph.Node, in []array, out []int) array {
		y := newArray(out...)
		for i, x := range in {
			y.v[i] = x.v[0]
		}
		return y
	}
	opRef["Tile"] = func(_ *graph.Node, in []array, out []int) array {
		for d, m := range in[1].ints() {
			if in[0].shape[d]*m != out[d] {
				panic("Tile: the multiples do not give the shape")
			}
		}
		y, i := newArray(out...), 0
		each(out, func(ix []int) {
			src := slices.Clone(ix)
			for d := range src {
				src[d] %= in[0].shape[d]
			}
			y.v[i] = in[0].at(src)
			i++
		})
		return y
	}
	opRef["ConcatV2"] = func(_ *graph.Node, in []array, out []int) array {
		y, i := newArray(out...), 0
		axis := int(in[len(in)-1].v[0])
		each(out, func(ix []int) {
			src := slices.Clone(ix)
			for _, x := range in[:len(in)-1] {
				if src[axis] < x.shape[axis] {
					y.v[i] = x.at(src)
					break
				}
				src[axis] -= x.shape[axis]
			}
			i++
		})
		return y
	}
	opRef["StridedSlice"] = func(n *graph.Node, in []array, out []int) array {
		y, i := newArray(out...), 0
		eachSlice(n, in[0].shape, in[1:4], func(ix []int) { y.v[i] = in[0].at(ix); i++ })
		return y
	}
	opRef["StridedSliceGrad"] = func(n *graph.Node, in []array, out []int) array {
		y, i := newArray(out...), 0
		eachSlice(n, in[0].ints(), in[1:4], func(ix []int) { y.v[y.offset(ix)] += in[4].v[i]; i++ })
		return y
	}
	opRef["Softmax"] = func(_ *graph.Node, in []array, out []int) array { return softmaxRef(in[0], false) }
	opRef["LogSoftmax"] = func(_ *graph.Node, in []array, out []int) array { return softmaxRef(in[0], true) }
	opRef["GatherV2"] = func(_ *graph.Node, in []array, out []int) array {
		y := newArray(out...)
		row := len(in[0].v) / in[0].shape[0]
		for i, k := range in[1].ints() {
			copy(y.v[i*row:(i+1)*row], in[0].v[k*row:])
		}
		return y
	}
	opRef["UnsortedSegmentSum"] = func(_ *graph.Node, in []array, out []int) array {
		y := newArray(out...)
		row := len(y.v) / out[0]
		for i, k := range in[1].ints() {
			for j := range row {
				y.v[k*row+j] += in[0].v[i*row+j]
			}
		}
		return y
	}
	convRefs()
}

func product2(a, b array, ta, tb bool, out []int) array {
	y := newArray(out...)
	k := a.shape[1]
	if ta {
		k = a.shape[0]
	}
	for i := range out[0] {
		for j := range out[1] {
			for l := range k {
				x, z := a.v, b.v
				ai, bi := i*a.shape[1]+l, l*b.shape[1]+j
				if ta {
					ai = l*a.shape[1] + i
				}
				if tb {
					bi = j*b.shape[1] + l
				}
				y.v[i*out[1]+j] += x[ai] * z[bi]
			}
		}
	}
	return y
}

func reduceRef(in []array, out []int, zero float64, f func(x, y float64) float64) array {
	axes := in[1].ints()
	keep := slices.Clone(in[0].shape)
	for _, a := range axes {
		keep[a] = 1
	}
	y, i := newArray(keep...), 0
	for k := range y.v {
		y.v[k] = zero
	}
	each(in[0].shape, func(ix []int) {
		o := y.offset(ix)
		y.v[o] = f(y.v[o], in[0].v[i])
		i++
	})
	return array{out, y.v}
}

func eachSlice(n *graph.Node, shape []int, spec []array, f func(ix []int)) {
	b, e, st := spec[0].ints(), spec[1].ints(), spec[2].ints()
	count := make([]int, len(shape))
	for d := range shape {
		if n.Int("begin_mask", 0)>>d&1 == 1 {
			b[d] = 0
		}
		if n.Int("end_mask", 0)>>d&1 == 1 {
			e[d] = shape[d]
		}
		count[d] = (e[d] - b[d] + st[d] - 1) / st[d]
	}
	each(count, func(ix []int) {
		at := make([]int, len(ix))
		for d := range at {
			at[d] = b[d] + ix[d]*st[d]
		}
		f(at)
	})
}

func softmaxRef(x array, log bool) array {
	y := newArray(x.shape...)
	n := x.shape[len(x.shape)-1]
	for r := 0; r < len(x.v); r += n {
		total := 0.0
		for i := range n {
			total += math.Exp(x.v[r+i])
		}
		for i := range n {
			y.v[r+i] = x.v[r+i] - math.Log(total)
			if !log {
				y.v[r+i] = math.Exp(y.v[r+i])
			}
		}
	}
	return y
}

// window visits all (output, filter tap, input) triples of an NHWC window op.
func window(n *graph.Node, out, in []int, kh, kw int, f func(b, oy, ox, ky, kx, iy, ix int)) {
	st, pad := n.Ints("strides"), n.Ints("explicit_paddings")
	var py, px int
	if len(pad) == 8 {
		py, px = int(pad[2]), int(pad[4])
	}
	each([]int{out[0], out[1], out[2], kh, kw}, func(i []int) {
		iy, ix := i[1]*int(st[1])+i[3]-py, i[2]*int(st[2])+i[4]-px
		if iy >= 0 && ix >= 0 && iy < in[1] && ix < in[2] {
			f(i[0], i[1], i[2], i[3], i[4], iy, ix)
		}
	})
}

func convRefs() {
	opRef["Conv2D"] = func(n *graph.Node, in []array, out []int) array {
		x, w, y := in[0], in[1], newArray(out...)
		window(n, out, x.shape, w.shape[0], w.shape[1], func(b, oy, ox, ky, kx, iy, ix int) {
			each(w.shape[2:], func(c []int) {
				y.v[y.offset([]int{b, oy, ox, c[1]})] += x.at([]int{b, iy, ix, c[0]}) * w.at([]int{ky, kx, c[0], c[1]})
			})
		})
		return y
	}
	opRef["Conv2DBackpropFilter"] = func(n *graph.Node, in []array, out []int) array {
		x, dy, dw := in[0], in[2], newArray(out...)
		window(n, dy.shape, x.shape, out[0], out[1], func(b, oy, ox, ky, kx, iy, ix int) {
			each(out[2:], func(c []int) {
				dw.v[dw.offset([]int{ky, kx, c[0], c[1]})] += x.at([]int{b, iy, ix, c[0]}) * dy.at([]int{b, oy, ox, c[1]})
			})
		})
		return dw
	}
	opRef["Conv2DBackpropInput"] = func(n *graph.Node, in []array, out []int) array {
		w, dy, dx := in[1], in[2], newArray(out...)
		if !slices.Equal(in[0].ints(), out) {
			panic("Conv2DBackpropInput: input_sizes do not give the shape")
		}
		window(n, dy.shape, out, w.shape[0], w.shape[1], func(b, oy, ox, ky, kx, iy, ix int) {
			each(w.shape[2:], func(c []int) {
				dx.v[dx.offset([]int{b, iy, ix, c[0]})] += w.at([]int{ky, kx, c[0], c[1]}) * dy.at([]int{b, oy, ox, c[1]})
			})
		})
		return dx
	}
	opRef["PadV2"] = func(_ *graph.Node, in []array, out []int) array {
		y, pad, i := newArray(out...), in[1].ints(), 0
		each(out, func(ix []int) {
			src, inside := make([]int, len(ix)), true
			for d := range ix {
				src[d] = ix[d] - pad[2*d]
				inside = inside && src[d] >= 0 && src[d] < in[0].shape[d]
			}
			y.v[i] = in[2].v[0]
			if inside {
				y.v[i] = in[0].at(src)
			}
			i++
		})
		return y
	}
	opRef["MaxPool"] = func(n *graph.Node, in []array, out []int) array {
		y := newArray(out...)
		for i := range y.v {
			y.v[i] = math.Inf(-1)
		}
		k := n.Ints("ksize")
		window(n, out, in[0].shape, int(k[1]), int(k[2]), func(b, oy, ox, _, _, iy, ix int) {
			for c := range out[3] {
				o := y.offset([]int{b, oy, ox, c})
				y.v[o] = max(y.v[o], in[0].at([]int{b, iy, ix, c}))
			}
		})
		return y
	}
	opRef["MaxPoolGrad"] = func(n *graph.Node, in []array, out []int) array {
		x, y, dy, dx := in[0], in[1], in[2], newArray(out...)
		k, taken := n.Ints("ksize"), make([]bool, len(y.v))
		window(n, y.shape, x.shape, int(k[1]), int(k[2]), func(b, oy, ox, _, _, iy, ix int) {
			for c := range out[3] {
				o := y.offset([]int{b, oy, ox, c})
				if src := []int{b, iy, ix, c}; !taken[o] && x.at(src) == y.v[o] {
					taken[o] = true
					dx.v[dx.offset(src)] += dy.v[o]
				}
			}
		})
		return dx
	}
}
