package kernels

// DepthwiseConv2D sets y = depthwise conv(x, w): input channel c gives output channels c*m to c*m+m-1, with m = OutC/InC.
func DepthwiseConv2D[T Float](g Window, y, x, w []T) {
	_, _, _ = x[:g.inSize()], w[:g.KH*g.KW*g.OutC], y[:g.outSize()]
	c := newConv(g, &doDepthwise, x, w, y)
	Parallel(g.Batch*g.OutH, c.rowGrain(), c)
	c.recycle()
}

var doDepthwise = convFunc{runDepthwise[float32], runDepthwise[float64]}

func runDepthwise[T Float](c *conv[T], lo, hi int) {
	for r := lo; r < hi; r++ {
		clear(c.y[r*c.OutW*c.OutC : (r+1)*c.OutW*c.OutC])
		c.taps(r, func(p pixelRun) {
			w := c.w[p.tap*c.OutC : (p.tap+1)*c.OutC]
			if c.OutC == c.InC {
				mulAddPixels(c.y[p.out:], p.outStep, c.x[p.in:], p.inStep, w, p.count)
				return
			}
			for i := range p.count {
				spread(c.y[p.out+i*p.outStep:][:c.OutC], c.x[p.in+i*p.inStep:][:c.InC], w)
			}
		})
	}
}

// spread adds x[i]*w[i*m+j] to y[i*m+j], m = len(y)/len(x).
func spread[T Float](y, x, w []T) {
	m := len(y) / len(x)
	for i, v := range x {
		for j := range m {
			y[i*m+j] += v * w[i*m+j]
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
	clear(c.x[lo*image : hi*image])
	for r := lo * c.OutH; r < hi*c.OutH; r++ {
		c.taps(r, func(p pixelRun) {
			w := c.w[p.tap*c.OutC : (p.tap+1)*c.OutC]
			if c.OutC == c.InC {
				mulAddPixels(c.x[p.in:], p.inStep, c.y[p.out:], p.outStep, w, p.count)
				return
			}
			for i := range p.count {
				gather(c.x[p.in+i*p.inStep:][:c.InC], c.y[p.out+i*p.outStep:][:c.OutC], w)
			}
		})
	}
}

// gather adds the sum over j of y[i*m+j]*w[i*m+j] to x[i].
func gather[T Float](x, y, w []T) {
	m := len(y) / len(x)
	for i := range x {
		for j := range m {
			x[i] += y[i*m+j] * w[i*m+j]
		}
	}
}

// DepthwiseFilterGrad sets dw to the gradient of DepthwiseConv2D's w, given x and dy.
func DepthwiseFilterGrad[T Float](g Window, dw, x, dy []T) {
	size := g.KH * g.KW * g.OutC
	_, _, _ = x[:g.inSize()], dw[:size], dy[:g.outSize()]
	c := newConv(g, &doDepthwiseFilterGrad, x, dw, dy)
	c.parts = filterGroups(g.Batch*g.OutH, size)
	c.partial = c.part.take(c.parts * size)
	Parallel(c.parts, 1, c)
	columns(colSum, dw[:size], c.partial, nil, nil, c.parts)
	c.recycle()
}

var doDepthwiseFilterGrad = convFunc{runDepthwiseFilterGrad[float32], runDepthwiseFilterGrad[float64]}

func runDepthwiseFilterGrad[T Float](c *conv[T], lo, hi int) {
	size, rows := c.KH*c.KW*c.OutC, c.Batch*c.OutH
	for i := lo; i < hi; i++ {
		sums := c.partial[i*size : (i+1)*size]
		clear(sums)
		for r := i * rows / c.parts; r < (i+1)*rows/c.parts; r++ {
			c.taps(r, func(p pixelRun) {
				dw := sums[p.tap*c.OutC : (p.tap+1)*c.OutC]
				if c.OutC == c.InC {
					dotPixels(dw, c.x[p.in:], p.inStep, c.y[p.out:], p.outStep, p.count)
					return
				}
				for i := range p.count {
					outer(dw, c.x[p.in+i*p.inStep:][:c.InC], c.y[p.out+i*p.outStep:][:c.OutC])
				}
			})
		}
	}
}

// outer adds x[i]*y[i*m+j] to w[i*m+j].
func outer[T Float](w, x, y []T) {
	m := len(w) / len(x)
	for i, v := range x {
		for j := range m {
			w[i*m+j] += v * y[i*m+j]
		}
	}
}
