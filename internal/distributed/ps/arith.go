package ps

import (
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// floats views bytes of a float type; b must be aligned, as all buffers are.
func floats[T float32 | float64](b []byte) []T {
	size := tensor.TypeOf[T]().Size()
	return tensor.Values[T](&tensor.Tensor{DType: tensor.TypeOf[T](), Shape: []int{len(b) / size}, Bytes: b})
}

// rescale multiplies values of a float type by scale, and clips them to clip if
// that is above 0.
func rescale(d tensor.DType, b []byte, scale, clip float64) {
	switch d {
	case tensor.Float32:
		rescaleAs(floats[float32](b), float32(scale), float32(clip))
	case tensor.Float64:
		rescaleAs(floats[float64](b), scale, clip)
	}
}

func rescaleAs[T float32 | float64](x []T, scale, clip T) {
	if scale != 1 {
		for i := range x {
			x[i] *= scale
		}
	}
	if clip > 0 {
		for i := range x {
			x[i] = min(max(x[i], -clip), clip)
		}
	}
}

// addScaled is dst += scale * src for a float type.
func addScaled(d tensor.DType, dst, src []byte, scale float64) {
	switch d {
	case tensor.Float32:
		addScaledAs(floats[float32](dst), floats[float32](src), float32(scale))
	case tensor.Float64:
		addScaledAs(floats[float64](dst), floats[float64](src), scale)
	}
}

func addScaledAs[T float32 | float64](dst, src []T, scale T) {
	for i, x := range src[:len(dst)] {
		dst[i] += scale * x
	}
}

// squares returns the sum of squares of values of a float type.
func squares(d tensor.DType, b []byte) (sum float64) {
	switch d {
	case tensor.Float32:
		for _, x := range floats[float32](b) {
			sum += float64(x) * float64(x)
		}
	case tensor.Float64:
		for _, x := range floats[float64](b) {
			sum += x * x
		}
	}
	return sum
}

// weighted is a gradient with its weight in a mean.
type weighted struct {
	*gradient
	share float64
}

// mean sums weighted gradients of one unit in their order. The result is dense
// if any of them is. Sparse gradients have increasing row numbers, and so has
// the sum, unless rows must stay separate.
func (u *unit) mean(all []weighted) *gradient {
	if slices.ContainsFunc(all, func(w weighted) bool { return !w.sparse }) {
		sum := u.acquireBuffer()
		clear(sum)
		for _, w := range all {
			u.addTo(sum, w)
		}
		return &gradient{values: sum}
	}
	out := &gradient{sparse: true, apart: slices.ContainsFunc(all, func(w weighted) bool { return w.apart })}
	for _, w := range all {
		if out.apart {
			out = u.concat(out, w)
		} else {
			out = u.merge(out, w)
		}
	}
	return out
}

// sum adds up the gradients of lookups.
func (u *unit) sum(lookups []*gradient) *gradient {
	if len(lookups) == 1 && !lookups[0].apart {
		return lookups[0]
	}
	all := make([]weighted, len(lookups))
	for i, g := range lookups {
		together := *g
		together.apart = false
		all[i] = weighted{&together, 1}
	}
	return u.mean(all)
}

// concat appends sparse rows to sparse rows, without summing.
func (u *unit) concat(a *gradient, w weighted) *gradient {
	size := u.v.rowBytes()
	values := tensor.New(tensor.Uint8, (len(a.ids)+len(w.ids))*size).Bytes
	n := copy(values, a.values)
	addScaled(u.v.DType, values[n:], w.values, w.share)
	return &gradient{sparse: true, apart: true, ids: slices.Concat(a.ids, w.ids), values: values}
}

// addTo adds a gradient to a dense one.
func (u *unit) addTo(sum []byte, w weighted) {
	if !w.sparse {
		addScaled(u.v.DType, sum, w.values, w.share)
		return
	}
	size := u.v.rowBytes()
	for i, id := range w.ids {
		addScaled(u.v.DType, sum[int(id)*size:(int(id)+1)*size], w.values[i*size:(i+1)*size], w.share)
	}
}

// merge adds sparse rows to sparse rows; rows with equal numbers are summed.
func (u *unit) merge(a *gradient, w weighted) *gradient {
	size := u.v.rowBytes()
	ids := slices.Concat(a.ids, w.ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	values := tensor.New(tensor.Uint8, len(ids)*size).Bytes
	place := func(g *gradient, share float64) {
		at := 0
		for i, id := range g.ids {
			if id < ids[at] { // the rows of the next worker
				at, _ = slices.BinarySearch(ids, id)
			}
			for ids[at] != id {
				at++
			}
			addScaled(u.v.DType, values[at*size:(at+1)*size], g.values[i*size:(i+1)*size], share)
		}
	}
	place(a, 1)
	place(w.gradient, w.share)
	return &gradient{sparse: true, ids: ids, values: values}
}
