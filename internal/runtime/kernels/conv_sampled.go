package kernels

// A 1x1 convolution with a stride reads only some pixels of the images. If the filter is large, it is a plain product with these pixels,
// gathered: blocks of them would each read the whole filter.

// sampledFrom is the least number of weights of such a filter.
const sampledFrom = 1 << 18

// sampled reports whether the convolution is such a product.
func (w *Window) sampled() bool {
	return w.Groups < 2 && w.weights() >= sampledFrom && w.KH == 1 && w.KW == 1 && w.PadTop == 0 && w.PadLeft == 0 && (w.OutH-1)*w.StrideH < w.InH && (w.OutW-1)*w.StrideW < w.InW
}

// filterProduct is the least number of weights for which a filter's gradient is one product over all pixels. The sums of smaller filters
// stay in the caches from one block of pixels to the next, and blocks are not packed.
const filterProduct = 1 << 16

// part returns the window for a number of images, starting at image first.
func (w *Window) part(first, images int) Window {
	part := *w
	part.Batch = min(images, w.Batch-first)
	return part
}

// gatheredImages is the number of images whose patches are gathered at once.
func (w *Window) gatheredImages() int {
	return max(1, convGathered/max(1, w.OutH*w.OutW*w.patch()))
}

// gatherPatches writes the patches under all output pixels to col, one after the other.
func gatherPatches[T Float](g Window, col, x []T) {
	c := newConv(g, &doGather, x, nil, nil)
	c.col, c.colRow = col, g.patch()
	Parallel(g.pixels(), gatherGrain, c)
	c.recycle()
}

// gatherGrain is the number of pixels that are worth a task.
const gatherGrain = 16

// eachSample calls f for parts of a sampled convolution: their window, first image and gathered pixels.
func eachSample[T Float](g Window, x []T, f func(part Window, first int, pixels []T)) {
	s := scratches[T]().get()
	step := g.gatheredImages()
	for first := 0; first < g.Batch; first += step {
		part := g.part(first, step)
		pixels := s.take(part.pixels() * g.InC)
		gatherPatches(part, pixels, x[first*g.InH*g.InW*g.InC:])
		f(part, first, pixels)
	}
	scratches[T]().put(s)
}

func convSampled[T Float](g Window, y, x, w, bias []T, relu bool) {
	eachSample(g, x, func(part Window, first int, pixels []T) {
		Gemm(GemmArgs[T]{M: part.pixels(), N: g.OutC, K: g.InC, Alpha: 1, A: pixels, LDA: g.InC, B: w, LDB: g.OutC,
			C: y[first*g.OutH*g.OutW*g.OutC:], LDC: g.OutC, Bias: bias, Relu: relu})
	})
}

func filterGradSampled[T Float](g Window, dw, x, dy []T) {
	if g.Batch == 0 {
		clear(dw)
		return
	}
	eachSample(g, x, func(part Window, first int, pixels []T) {
		filterGradProduct(part, dw, pixels, dy[first*g.OutH*g.OutW*g.OutC:], T(min(first, 1)))
	})
}

// filterGradProduct sets dw to beta times dw plus the gradient of the filter of a plain product.
func filterGradProduct[T Float](g Window, dw, x, dy []T, beta T) {
	Gemm(GemmArgs[T]{M: g.InC, N: g.OutC, K: g.pixels(), Alpha: 1, A: x, LDA: g.InC, TransA: true, B: dy, LDB: g.OutC, Beta: beta, C: dw, LDC: g.OutC})
}

func inputGradSampled[T Float](g Window, dx, dy, w []T) {
	s := scratches[T]().get()
	step := g.gatheredImages()
	for first := 0; first < g.Batch; first += step {
		part := g.part(first, step)
		pixels := s.take(part.pixels() * g.InC)
		Gemm(GemmArgs[T]{M: part.pixels(), N: g.InC, K: g.OutC, Alpha: 1, A: dy[first*g.OutH*g.OutW*g.OutC:], LDA: g.OutC, B: w, LDB: g.OutC,
			TransB: true, C: pixels, LDC: g.InC})
		c := newConv(part, &doSpreadSamples, dx[first*g.InH*g.InW*g.InC:], nil, nil)
		c.col = pixels
		Parallel(part.Batch*g.InH, 1, c)
		c.recycle()
	}
	scratches[T]().put(s)
}

var doSpreadSamples = convFunc{runSpreadSamples[float32], runSpreadSamples[float64]}

// runSpreadSamples sets lines of the images to the gathered pixels, and to zero between them.
func runSpreadSamples[T Float](c *conv[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		line := c.x[i*c.InW*c.InC:][:c.InW*c.InC]
		clear(line)
		n, h := i/c.InH, i%c.InH
		if h%c.StrideH > 0 || h/c.StrideH >= c.OutH {
			continue
		}
		pixels := c.col[(n*c.OutH+h/c.StrideH)*c.OutW*c.InC:]
		for w := range c.OutW {
			copyRun(line[w*c.StrideW*c.InC:][:c.InC], pixels[w*c.InC:])
		}
	}
}
