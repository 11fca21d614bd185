package kernels

import "math"

// pixelRun is the output pixels of one row that a filter tap pairs with input pixels, each with one channel vector. out and in
// are the offsets of the first pair; pairs are outStep and inStep elements apart.
type pixelRun struct {
	tap, out, in, count int
	outStep, inStep     int
}

// taps calls f for every tap that meets output row r (counted over the batch), row by row of the filter. Windows may be much
// larger than the image.
func (c *conv[T]) taps(r int, f func(p pixelRun)) {
	n, oh := r/c.OutH, r%c.OutH
	top := oh*c.StrideH - c.PadTop
	kh0, kh1 := tapsInside(top, c.KH, c.DilH, c.InH)
	kw0, _ := tapsInside((c.OutW-1)*c.StrideW-c.PadLeft, c.KW, c.DilW, c.InW)
	_, kw1 := tapsInside(-c.PadLeft, c.KW, c.DilW, c.InW)
	for kh := kh0; kh < kh1; kh++ {
		h := top + kh*c.DilH
		for kw := kw0; kw < kw1; kw++ {
			from, to := c.columns(kw)
			if from >= to {
				continue
			}
			w := from*c.StrideW - c.PadLeft + kw*c.DilW
			f(pixelRun{tap: kh*c.KW + kw, out: (r*c.OutW + from) * c.OutC, in: ((n*c.InH+h)*c.InW + w) * c.InC,
				count: to - from, outStep: c.OutC, inStep: c.StrideW * c.InC})
		}
	}
}

// columns returns the range of output columns for which tap kw meets a pixel of the image.
func (w *Window) columns(kw int) (from, to int) {
	first := kw*w.DilW - w.PadLeft // input column of output column 0
	if first < 0 {
		from = ceilDiv(-first, w.StrideW)
	}
	return from, min(w.OutW, (w.InW-1-first+w.StrideW)/w.StrideW)
}

// pixelWindow is the input pixels under a run of output pixels of one row: lines x taps pixels for each. Distances are in
// elements.
type pixelWindow struct {
	channels, count, step int // channels and number of output pixels; step is between the windows
	lines, lineStep       int
	taps, tapStep         int
}

// maxWindow sets each pixel of dst to the largest of the pixels of x in its window, starting from the lowest finite number. NaN is
// ignored. The first window starts at x[0].
func maxWindow[T Float](dst, x []T, w *pixelWindow) {
	if simdMaxWindow(dst, x, w) {
		return
	}
	for i := range w.count {
		d := dst[i*w.channels:][:w.channels]
		Fill(d, lowest[T]())
		for l := range w.lines {
			for t := range w.taps {
				v := x[i*w.step+l*w.lineStep+t*w.tapStep:][:w.channels]
				for c := range d {
					if v[c] > d[c] {
						d[c] = v[c]
					}
				}
			}
		}
	}
}

// lowest returns the lowest finite number.
func lowest[T Float]() T {
	if is32[T]() {
		low := float32(-math.MaxFloat32)
		return T(low)
	}
	low := -math.MaxFloat64
	return T(low)
}

// atTop reports whether a pixel is the largest y of its window. If the window's first pixel is NaN, it counts as the largest.
func atTop[T Float](x, y T, first bool) bool {
	return max(x, lowest[T]()) == y || first && x != x
}

// routeWindow sets the pixels of dx in the windows under the pixels of y, which must not overlap: the first largest pixel in x
// gets dy, the others zero.
func routeWindow[T Float](dx, x, dy, y []T, w *pixelWindow) {
	if simdRouteWindow(dx, x, dy, y, w) {
		return
	}
	for i := range w.count * w.channels {
		left, at := dy[i], i/w.channels*w.step+i%w.channels
		for l := range w.lines {
			for t := range w.taps {
				in := at + l*w.lineStep + t*w.tapStep
				dx[in] = 0
				if atTop(x[in], y[i], l+t == 0) {
					dx[in], left = left, 0
				}
			}
		}
	}
}

// tapsInside returns the range of taps of a window that are in [0, size). The first tap is at from.
func tapsInside(from, taps, step, size int) (first, end int) {
	if from < 0 {
		first = min(ceilDiv(-from, step), taps)
	}
	return first, max(first, min(taps, ceilDiv(size-from, step)))
}

// mulAddPixels adds x*w to dst for count pairs of vectors, with one vector w.
func mulAddPixels[T Float](dst []T, ds int, x []T, xs int, w []T, count int) {
	if simdMulAddPixels(dst, ds, x, xs, w, count) {
		return
	}
	for i := range count {
		d, v := dst[i*ds:][:len(w)], x[i*xs:][:len(w)]
		for c, f := range w {
			d[c] += v[c] * f
		}
	}
}

// dotPixels adds the products x*y of count pairs of vectors to acc, channel by channel.
func dotPixels[T Float](acc, x []T, xs int, y []T, ys int, count int) {
	if simdDotPixels(acc, x, xs, y, ys, count) {
		return
	}
	for i := range count {
		a, b := x[i*xs:][:len(acc)], y[i*ys:][:len(acc)]
		for c, v := range a {
			acc[c] += v * b[c]
		}
	}
}

// routePixels adds left to dx where x is the window's largest pixel y, and clears left so that it goes nowhere else. first says
// that x are the first pixels of their windows. Pixels of dx and x are inStep elements apart, pixels of left and y outStep.
func routePixels[T Float](p pixelRun, dx, x, left, y []T, width int, first bool) {
	if simdRoutePixels(p, dx, x, left, y, width, first) {
		return
	}
	for i := range p.count {
		in, out := i*p.inStep, i*p.outStep
		for c := range width {
			if atTop(x[in+c], y[out+c], first) {
				dx[in+c] += left[out+c]
				left[out+c] = 0
			}
		}
	}
}
