package kernels

// DepthwiseConv2D sets y = depthwise conv(x, w): channel c of the input feeds the outputs c*m .. c*m+m-1, m = OutC/InC.
func DepthwiseConv2D[T Float](g Window, y, x, w []T) {
	_, _, _ = x[:g.inSize()], w[:g.KH*g.KW*g.OutC], y[:g.outSize()]
	c := newConv(g, &doDepthwise, x, w, y)
	Parallel(g.Batch*g.OutH, rowGrain(g.OutW*g.OutC*g.KH*g.KW, elementGrain), c)
	c.recycle()
}

var doDepthwise = convFunc{runDepthwise[float32], runDepthwise[float64]}

func runDepthwise[T Float](c *conv[T], lo, hi int) {
	for r := lo; r < hi; r++ {
		Fill(c.y[r*c.OutW*c.OutC:(r+1)*c.OutW*c.OutC], 0)
		c.eachTap(r, func(out, in, tap int) {
			spread(c.y[out:out+c.OutC], c.x[in:in+c.InC], c.w[tap*c.OutC:(tap+1)*c.OutC])
		})
	}
}

// eachTap calls f with the offsets of the output pixel, the input pixel under it and the filter tap between them, for
// all pixels of output row r (counted over the batch) and all taps inside the image.
func (c *conv[T]) eachTap(r int, f func(out, in, tap int)) {
	n, oh := r/c.OutH, r%c.OutH
	for kh := range c.KH {
		h := oh*c.StrideH - c.PadTop + kh*c.DilH
		if h < 0 || h >= c.InH {
			continue
		}
		for ow := range c.OutW {
			for kw := range c.KW {
				w := ow*c.StrideW - c.PadLeft + kw*c.DilW
				if w < 0 || w >= c.InW {
					continue
				}
				f((r*c.OutW+ow)*c.OutC, ((n*c.InH+h)*c.InW+w)*c.InC, kh*c.KW+kw)
			}
		}
	}
}

// spread adds x[i]*w[i*m+j] to y[i*m+j], m = len(y)/len(x).
func spread[T Float](y, x, w []T) {
	if len(y) == len(x) {
		mulAddRange(y, x, w)
		return
	}
	m := len(y) / len(x)
	for i, v := range x {
		for j := range m {
			y[i*m+j] += v * w[i*m+j]
		}
	}
}

// mulAddRange adds a[i]*b[i] to acc[i].
func mulAddRange[T Float](acc, a, b []T) { fmaRange(acc, a, b, acc) }

// gather adds the sum over j of y[i*m+j]*w[i*m+j] to x[i].
func gather[T Float](x, y, w []T) {
	if len(y) == len(x) {
		mulAddRange(x, y, w)
		return
	}
	m := len(y) / len(x)
	for i := range x {
		for j := range m {
			x[i] += y[i*m+j] * w[i*m+j]
		}
	}
}

// DepthwiseInputGrad sets dx to the gradient of DepthwiseConv2D's x, given dy.
func DepthwiseInputGrad[T Float](g Window, dx, dy, w []T) {
	_, _, _ = dx[:g.inSize()], w[:g.KH*g.KW*g.OutC], dy[:g.outSize()]
	c := newConv(g, &doDepthwiseInputGrad, dx, w, dy)
	Parallel(g.Batch, 1, c)
	c.recycle()
}

var doDepthwiseInputGrad = convFunc{runDepthwiseInputGrad[float32], runDepthwiseInputGrad[float64]}

func runDepthwiseInputGrad[T Float](c *conv[T], lo, hi int) {
	image := c.InH * c.InW * c.InC
	for n := lo; n < hi; n++ {
		Fill(c.x[n*image:(n+1)*image], 0)
		for oh := range c.OutH {
			c.eachTap(n*c.OutH+oh, func(out, in, tap int) {
				gather(c.x[in:in+c.InC], c.y[out:out+c.OutC], c.w[tap*c.OutC:(tap+1)*c.OutC])
			})
		}
	}
}

// DepthwiseFilterGrad sets dw to the gradient of DepthwiseConv2D's w, given x and dy.
func DepthwiseFilterGrad[T Float](g Window, dw, x, dy []T) {
	size := g.KH * g.KW * g.OutC
	_, _, _ = x[:g.inSize()], dw[:size], dy[:g.outSize()]
	c := newConv(g, &doDepthwiseFilterGrad, x, dw, dy)
	c.groups = filterGroups(g.Batch*g.OutH, size)
	c.partial = c.part.take(c.groups * size)
	Parallel(c.groups, 1, c)
	columns(colSum, dw[:size], c.partial, nil, nil, c.groups)
	c.recycle()
}

var doDepthwiseFilterGrad = convFunc{runDepthwiseFilterGrad[float32], runDepthwiseFilterGrad[float64]}

func runDepthwiseFilterGrad[T Float](c *conv[T], lo, hi int) {
	size, rows := c.KH*c.KW*c.OutC, c.Batch*c.OutH
	for i := lo; i < hi; i++ {
		dw := c.partial[i*size : (i+1)*size]
		Fill(dw, 0)
		for r := i * rows / c.groups; r < (i+1)*rows/c.groups; r++ {
			c.eachTap(r, func(out, in, tap int) {
				outer(dw[tap*c.OutC:(tap+1)*c.OutC], c.x[in:in+c.InC], c.y[out:out+c.OutC])
			})
		}
	}
}

// outer adds x[i]*y[i*m+j] to w[i*m+j].
func outer[T Float](w, x, y []T) {
	if len(w) == len(x) {
		mulAddRange(w, x, y)
		return
	}
	m := len(w) / len(x)
	for i, v := range x {
		for j := range m {
			w[i*m+j] += v * y[i*m+j]
		}
	}
}
