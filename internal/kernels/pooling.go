package kernels

import "math"

// MaxPool sets y to the largest element of each window and channel; padding takes no part.
func MaxPool[T Float](g Window, y, x []T) {
	_, _ = x[:g.inSize()], y[:g.outSize()]
	c := newConv(g, &doMaxPool, x, nil, y)
	Parallel(g.Batch*g.OutH, rowGrain(g.OutW*g.OutC*g.KH*g.KW, elementGrain), c)
	c.recycle()
}

var doMaxPool = convFunc{runMaxPool[float32], runMaxPool[float64]}

func runMaxPool[T Float](c *conv[T], lo, hi int) {
	for r := lo; r < hi; r++ {
		for ow := range c.OutW {
			y := c.y[(r*c.OutW+ow)*c.InC:][:c.InC]
			first := true
			for _, in := range c.window(r, ow) {
				x := c.x[in : in+c.InC]
				if first {
					copy(y, x)
				} else {
					binaryRange(Max, y, y, x)
				}
				first = false
			}
			if first {
				Fill(y, T(math.Inf(-1)))
			}
		}
	}
}

// window yields, numbered from 0, the offsets of the input pixels under pixel ow of output row r (counted over the
// batch), row by row.
func (c *conv[T]) window(r, ow int) func(yield func(i, in int) bool) {
	return func(yield func(i, in int) bool) {
		n, oh := r/c.OutH, r%c.OutH
		h0, h1, dh := clipRange(oh*c.StrideH-c.PadTop, c.KH, c.DilH, c.InH)
		w0, w1, dw := clipRange(ow*c.StrideW-c.PadLeft, c.KW, c.DilW, c.InW)
		i := 0
		for h := h0; h < h1; h += dh {
			for w := w0; w < w1; w += dw {
				if !yield(i, ((n*c.InH+h)*c.InW+w)*c.InC) {
					return
				}
				i++
			}
		}
	}
}

// clipRange returns the part of from, from+step, ... (k of them) that lies within [0, size).
func clipRange(from, k, step, size int) (lo, hi, by int) {
	hi = min(from+(k-1)*step+1, size)
	if from < 0 {
		from += ceilDiv(-from, step) * step
	}
	return from, hi, step
}

// MaxPoolGrad sets dx: each dy goes to the first largest element of its window.
func MaxPoolGrad[T Float](g Window, dx, x, y, dy []T) {
	_, _, _, _ = x[:g.inSize()], y[:g.outSize()], dx[:g.inSize()], dy[:g.outSize()]
	c := newConv(g, &doMaxPoolGrad, x, dx, y)
	c.bias = dy
	Parallel(g.Batch, 1, c)
	c.recycle()
}

var doMaxPoolGrad = convFunc{runMaxPoolGrad[float32], runMaxPoolGrad[float64]}

func runMaxPoolGrad[T Float](c *conv[T], lo, hi int) {
	image := c.InH * c.InW * c.InC
	s := scratches[T]().get()
	left := s.take(c.InC)
	for n := lo; n < hi; n++ {
		Fill(c.w[n*image:(n+1)*image], 0)
		for r := n * c.OutH; r < (n+1)*c.OutH; r++ {
			for ow := range c.OutW {
				out := (r*c.OutW + ow) * c.InC
				copy(left, c.bias[out:])
				for _, in := range c.window(r, ow) {
					routeMax(c.w[in:in+c.InC], left, c.x[in:in+c.InC], c.y[out:out+c.InC])
				}
			}
		}
	}
	scratches[T]().put(s)
}

// routeMax moves left[i] to dx[i] where x[i] is the window's maximum y[i], and clears it so that it goes nowhere else.
func routeMax[T Float](dx, left, x, y []T) {
	left, x, y = left[:len(dx)], x[:len(dx)], y[:len(dx)]
	if simdRouteMax(dx, left, x, y) {
		return
	}
	for i, v := range x {
		if v == y[i] {
			dx[i] += left[i]
			left[i] = 0
		}
	}
}

// AvgPool sets y to the mean of each window and channel over the pixels inside the image.
func AvgPool[T Float](g Window, y, x []T) {
	_, _ = x[:g.inSize()], y[:g.outSize()]
	c := newConv(g, &doAvgPool, x, nil, y)
	Parallel(g.Batch*g.OutH, rowGrain(g.OutW*g.OutC*g.KH*g.KW, elementGrain), c)
	c.recycle()
}

var doAvgPool = convFunc{runAvgPool[float32], runAvgPool[float64]}

func runAvgPool[T Float](c *conv[T], lo, hi int) {
	for r := lo; r < hi; r++ {
		for ow := range c.OutW {
			y := c.y[(r*c.OutW+ow)*c.InC:][:c.InC]
			Fill(y, 0)
			count := 0
			for _, in := range c.window(r, ow) {
				binaryRange(Add, y, y, c.x[in:in+c.InC])
				count++
			}
			if count > 0 {
				scaleRange(y, 1/T(count))
			}
		}
	}
}

// AvgPoolGrad sets dx: each dy is shared equally by the pixels of its window inside the image.
func AvgPoolGrad[T Float](g Window, dx, dy []T) {
	_, _ = dx[:g.inSize()], dy[:g.outSize()]
	c := newConv(g, &doAvgPoolGrad, dx, nil, dy)
	Parallel(g.Batch, 1, c)
	c.recycle()
}

var doAvgPoolGrad = convFunc{runAvgPoolGrad[float32], runAvgPoolGrad[float64]}

func runAvgPoolGrad[T Float](c *conv[T], lo, hi int) {
	image := c.InH * c.InW * c.InC
	for n := lo; n < hi; n++ {
		Fill(c.x[n*image:(n+1)*image], 0)
		for r := n * c.OutH; r < (n+1)*c.OutH; r++ {
			for ow := range c.OutW {
				c.shareMean(r, ow)
			}
		}
	}
}

func (c *conv[T]) shareMean(r, ow int) {
	count := 0
	for range c.window(r, ow) {
		count++
	}
	if count == 0 {
		return
	}
	dy := c.y[(r*c.OutW+ow)*c.InC:][:c.InC]
	for _, in := range c.window(r, ow) {
		axpyRange(1/T(count), dy, c.x[in:in+c.InC])
	}
}
