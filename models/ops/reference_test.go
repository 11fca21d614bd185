package ops_test

import (
	"math"
	"slices"
)

// array is a float64 tensor for the references, which are slow and simple.
type array struct {
	shape []int
	data  []float64
}

func zeros(shape ...int) *array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return &array{slices.Clone(shape), make([]float64, n)}
}

// each calls f with every index of shape, in row-major order.
func each(shape []int, f func(i []int)) {
	idx := make([]int, len(shape))
	var rec func(d int)
	rec = func(d int) {
		if d == len(shape) {
			f(idx)
			return
		}
		for idx[d] = 0; idx[d] < shape[d]; idx[d]++ {
			rec(d + 1)
		}
		idx[d] = 0
	}
	rec(0)
}

func (a *array) pos(i []int) int {
	p := 0
	for d, n := range a.shape {
		p = p*n + i[d]
	}
	return p
}

func (a *array) at(i ...int) float64     { return a.data[a.pos(i)] }
func (a *array) set(v float64, i ...int) { a.data[a.pos(i)] = v }

// bcast reads a at the index of a larger shape that a broadcasts to.
func (a *array) bcast(i []int) float64 {
	own := make([]int, len(a.shape))
	for d := range own {
		own[d] = i[len(i)-len(own)+d]
		if a.shape[d] == 1 {
			own[d] = 0
		}
	}
	return a.at(own...)
}

func fill(shape []int, f func(i []int) float64) *array {
	out := zeros(shape...)
	each(shape, func(i []int) { out.set(f(i), i...) })
	return out
}

func mapped(f func(float64) float64) func(in []*array) *array {
	return func(in []*array) *array {
		return fill(in[0].shape, func(i []int) float64 { return f(in[0].at(i...)) })
	}
}

func bshape(in ...*array) []int {
	var out []int
	for _, a := range in {
		for len(out) < len(a.shape) {
			out = append([]int{1}, out...)
		}
		for d, n := range a.shape {
			k := len(out) - len(a.shape) + d
			out[k] = max(out[k], n)
		}
	}
	return out
}

func zipped(f func(x, y float64) float64) func(in []*array) *array {
	return func(in []*array) *array {
		return fill(bshape(in...), func(i []int) float64 { return f(in[0].bcast(i), in[1].bcast(i)) })
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// folded reduces over axes; finish gets the total and the number of values.
func folded(start float64, f func(acc, v float64) float64, keep bool, axes ...int) func(in []*array) *array {
	return func(in []*array) *array {
		x := in[0]
		kept := slices.Clone(x.shape)
		var out []int
		for d := range kept {
			if slices.Contains(axes, d) || len(axes) == 0 {
				kept[d] = 1
			} else {
				out = append(out, kept[d])
			}
		}
		y := zeros(kept...)
		for i := range y.data {
			y.data[i] = start
		}
		each(x.shape, func(i []int) {
			k := slices.Clone(i)
			for d := range k {
				if kept[d] == 1 {
					k[d] = 0
				}
			}
			y.set(f(y.at(k...), x.at(i...)), k...)
		})
		if !keep {
			y.shape = out
		}
		return y
	}
}

func meaned(keep bool, axes ...int) func(in []*array) *array {
	sum := folded(0, func(a, v float64) float64 { return a + v }, keep, axes...)
	return func(in []*array) *array {
		y := sum(in)
		for i := range y.data {
			y.data[i] *= float64(len(y.data)) / float64(len(in[0].data))
		}
		return y
	}
}

func softmaxed(log bool) func(in []*array) *array {
	return func(in []*array) *array {
		x := in[0]
		last := x.shape[len(x.shape)-1]
		y := zeros(x.shape...)
		for r := 0; r < len(x.data); r += last {
			sum := 0.0
			for k := range last {
				sum += math.Exp(x.data[r+k])
			}
			for k := range last {
				if y.data[r+k] = math.Exp(x.data[r+k]) / sum; log {
					y.data[r+k] = x.data[r+k] - math.Log(sum)
				}
			}
		}
		return y
	}
}

func reshaped(shape func(in []int) []int) func(in []*array) *array {
	return func(in []*array) *array { return &array{shape(in[0].shape), slices.Clone(in[0].data)} }
}

// product multiplies the last two dimensions; ta and tb transpose them first.
func product(ta, tb bool) func(in []*array) *array {
	return func(in []*array) *array {
		a, b := in[0], in[1]
		r := len(a.shape)
		m, k, n := a.shape[r-2], a.shape[r-1], b.shape[r-1]
		if ta {
			m, k = k, m
		}
		if tb {
			n = b.shape[r-2]
		}
		return fill(append(slices.Clone(a.shape[:r-2]), m, n), func(i []int) float64 {
			sum := 0.0
			for q := range k {
				ai, bi := slices.Clone(i), slices.Clone(i)
				ai[r-1], bi[r-2] = q, q
				if ta {
					ai[r-2], ai[r-1] = q, i[r-2]
				}
				if tb {
					bi[r-2], bi[r-1] = i[r-1], q
				}
				sum += a.at(ai...) * b.at(bi...)
			}
			return sum
		})
	}
}

// window is the geometry of a convolution or pool along both image dimensions.
type window struct{ size, stride, before, out [2]int }

func windowOf(x []int, size, stride [2]int, padding string, explicit [4]int) window {
	w := window{size: size, stride: stride}
	for d := range 2 {
		n := x[1+d]
		switch padding {
		case "SAME":
			w.out[d] = int(math.Ceil(float64(n) / float64(stride[d])))
			w.before[d] = max((w.out[d]-1)*stride[d]+size[d]-n, 0) / 2
		case "VALID":
			w.out[d] = int(math.Ceil(float64(n-size[d]+1) / float64(stride[d])))
		default:
			w.before[d] = explicit[2*d]
			w.out[d] = (n+explicit[2*d]+explicit[2*d+1]-size[d])/stride[d] + 1
		}
	}
	return w
}

// visit calls f for every pixel of x that the window at (h, w) of the output covers.
func (g window) visit(x []int, h, w int, f func(r, c, kr, kc int)) {
	for kr := range g.size[0] {
		for kc := range g.size[1] {
			r, c := h*g.stride[0]+kr-g.before[0], w*g.stride[1]+kc-g.before[1]
			if r >= 0 && r < x[1] && c >= 0 && c < x[2] {
				f(r, c, kr, kc)
			}
		}
	}
}

func convolved(depthwise bool, stride [2]int, padding string, explicit [4]int) func(in []*array) *array {
	return func(in []*array) *array {
		x, f := in[0], in[1]
		g := windowOf(x.shape, [2]int{f.shape[0], f.shape[1]}, stride, padding, explicit)
		out := f.shape[3]
		if depthwise {
			out *= f.shape[2]
		}
		return fill([]int{x.shape[0], g.out[0], g.out[1], out}, func(i []int) float64 {
			sum := 0.0
			g.visit(x.shape, i[1], i[2], func(r, c, kr, kc int) {
				if depthwise {
					ch, m := i[3]/f.shape[3], i[3]%f.shape[3]
					sum += x.at(i[0], r, c, ch) * f.at(kr, kc, ch, m)
					return
				}
				for ch := range f.shape[2] {
					sum += x.at(i[0], r, c, ch) * f.at(kr, kc, ch, i[3])
				}
			})
			return sum
		})
	}
}

func pooled(mean bool, size, stride [2]int, padding string) func(in []*array) *array {
	return func(in []*array) *array {
		x := in[0]
		g := windowOf(x.shape, size, stride, padding, [4]int{})
		return fill([]int{x.shape[0], g.out[0], g.out[1], x.shape[3]}, func(i []int) float64 {
			sum, n, top := 0.0, 0.0, math.Inf(-1)
			g.visit(x.shape, i[1], i[2], func(r, c, _, _ int) {
				v := x.at(i[0], r, c, i[3])
				sum, n, top = sum+v, n+1, max(top, v)
			})
			if mean {
				return sum / n
			}
			return top
		})
	}
}

// channelMoments returns mean and variance (divided by n) over all but the last dimension.
func channelMoments(x *array) (mean, variance []float64) {
	ch := x.shape[len(x.shape)-1]
	n := float64(len(x.data) / ch)
	mean, variance = make([]float64, ch), make([]float64, ch)
	for i, v := range x.data {
		mean[i%ch] += v / n
	}
	for i, v := range x.data {
		variance[i%ch] += (v - mean[i%ch]) * (v - mean[i%ch]) / n
	}
	return mean, variance
}

func normalized(x *array, mean, variance, scale, offset []float64, eps float64) *array {
	y := zeros(x.shape...)
	ch := len(mean)
	for i, v := range x.data {
		k := i % ch
		y.data[i] = (v-mean[k])/math.Sqrt(variance[k]+eps)*scale[k] + offset[k]
	}
	return y
}
