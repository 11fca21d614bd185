package kernels

// MaxPool sets y to the largest element of each window and channel, without padding. As in TensorFlow, NaN is ignored, and no
// result is below the lowest finite number.
func MaxPool[T Float](g Window, y, x []T) {
	_, _ = x[:g.inSize()], y[:g.outSize()]
	c := newConv(g, &doMaxPool, x, nil, y)
	Parallel(g.Batch*g.OutH, c.rowGrain(), c)
	c.recycle()
}

// rowGrain returns the number of output rows of a range.
func (c *conv[T]) rowGrain() int { return rowGrain(c.OutW*c.OutC*c.KH*c.KW, elementGrain) }

var doMaxPool = convFunc{runMaxPool[float32], runMaxPool[float64]}

func runMaxPool[T Float](c *conv[T], lo, hi int) {
	for r := lo; r < hi; r++ {
		c.windows(r, func(out, in int, w pixelWindow) {
			dst := c.y[out:][:w.count*c.InC]
			if w.lines*w.taps == 0 {
				Fill(dst, lowest[T]())
				return
			}
			maxWindow(dst, c.x[in:], &w)
		})
	}
}

// windows calls f for the runs of pixels of output row r (counted over the batch) whose windows have the same shape inside
// the image. out and in are the offsets of the pixels and the first window.
func (c *conv[T]) windows(r int, f func(out, in int, w pixelWindow)) {
	n, top := r/c.OutH, r%c.OutH*c.StrideH-c.PadTop
	kh0, kh1 := tapsInside(top, c.KH, c.DilH, c.InH)
	line := (n*c.InH + top + kh0*c.DilH) * c.InW
	w := pixelWindow{channels: c.InC, step: c.StrideW * c.InC, lines: kh1 - kh0, lineStep: c.DilH * c.InW * c.InC,
		tapStep: c.DilW * c.InC}
	for from := 0; from < c.OutW; from += w.count {
		left := from*c.StrideW - c.PadLeft
		kw0, kw1 := tapsInside(left, c.KW, c.DilW, c.InW)
		w.taps, w.count = kw1-kw0, 1
		if w.taps == c.KW { // the same shape up to the right edge
			w.count = max(1, min(c.OutW, (c.InW-1-(c.KW-1)*c.DilW+c.PadLeft)/c.StrideW+1)-from)
		}
		f((r*c.OutW+from)*c.InC, (line+left+kw0*c.DilW)*c.InC, w)
	}
}

// MaxPoolGrad sets dx: each dy goes to the first element of its window that equals y, the largest, or to the window's first
// element if that is NaN.
func MaxPoolGrad[T Float](g Window, dx, x, y, dy []T) {
	_, _, _, _ = x[:g.inSize()], y[:g.outSize()], dx[:g.inSize()], dy[:g.outSize()]
	c := newConv(g, &doMaxPoolGrad, x, dx, y)
	c.dy = dy
	Parallel(g.Batch, 1, c)
	c.recycle()
}

var doMaxPoolGrad = convFunc{runMaxPoolGrad[float32], runMaxPoolGrad[float64]}

func runMaxPoolGrad[T Float](c *conv[T], lo, hi int) {
	image, row := c.InH*c.InW*c.InC, c.OutW*c.OutC
	s := scratches[T]().get()
	left := s.take(row)
	apart := c.StrideH > (c.KH-1)*c.DilH && c.StrideW > (c.KW-1)*c.DilW
	for n := lo; n < hi; n++ {
		if !apart || !c.covered() {
			clear(c.w[n*image : (n+1)*image])
		}
		for r := n * c.OutH; r < (n+1)*c.OutH; r++ {
			if apart {
				c.routeApart(r)
				continue
			}
			copy(left, c.dy[r*row:])
			c.taps(r, func(p pixelRun) { c.routeTap(r, p, left) })
		}
	}
	scratches[T]().put(s)
}

// routeTap moves the remaining gradients of output row r to the pixels under a tap.
func (c *conv[T]) routeTap(r int, p pixelRun, left []T) {
	to := p.out - r*c.OutW*c.OutC
	part := func(p pixelRun, first bool) {
		if p.count > 0 {
			routePixels(p, c.w[p.in:], c.x[p.in:], left[to:], c.y[p.out:], c.InC, first)
		}
		to += p.count * p.outStep
	}
	one, rest := c.firstUnder(r, p)
	part(one, true)
	part(rest, false)
}

// firstUnder divides the pixels under a tap into the first pixels of their windows, and the others.
func (c *conv[T]) firstUnder(r int, p pixelRun) (first, others pixelRun) {
	kh, kw := p.tap/c.KW, p.tap%c.KW
	top := r%c.OutH*c.StrideH - c.PadTop
	first, others = p, p
	first.count = 0
	if above, _ := tapsInside(top, c.KH, c.DilH, c.InH); kh == above {
		from, _ := c.columns(kw)
		first.count = p.count
		if kw > 0 { // if the tap before is inside the image, its pixel is the first
			before, _ := c.columns(kw - 1)
			first.count = max(0, min(p.count, before-from))
		}
	}
	others.count -= first.count
	others.in += first.count * p.inStep
	others.out += first.count * p.outStep
	return first, others
}

// covered reports whether every pixel of an image is in a window, given that windows do not overlap.
func (w *Window) covered() bool {
	return w.KH == w.StrideH && w.KW == w.StrideW && w.DilH == 1 && w.DilW == 1 &&
		w.OutH*w.StrideH-w.PadTop >= w.InH && w.OutW*w.StrideW-w.PadLeft >= w.InW
}

// routeApart does the windows of output row r, which do not overlap.
func (c *conv[T]) routeApart(r int) {
	c.windows(r, func(out, in int, w pixelWindow) {
		if w.lines*w.taps > 0 {
			routeWindow(c.w[in:], c.x[in:], c.dy[out:], c.y[out:], &w)
		}
	})
}

// AvgPool sets y to the mean of each window and channel over the pixels inside the image.
func AvgPool[T Float](g Window, y, x []T) {
	_, _ = x[:g.inSize()], y[:g.outSize()]
	c := newConv(g, &doAvgPool, x, nil, y)
	Parallel(g.Batch*g.OutH, c.rowGrain(), c)
	c.recycle()
}

var doAvgPool = convFunc{runAvgPool[float32], runAvgPool[float64]}

func runAvgPool[T Float](c *conv[T], lo, hi int) {
	s := scratches[T]().get()
	ones := s.take(c.InC)
	Fill(ones, 1)
	row := c.OutW * c.OutC
	for r := lo; r < hi; r++ {
		y := c.y[r*row : (r+1)*row]
		clear(y)
		c.taps(r, func(p pixelRun) { mulAddPixels(c.y[p.out:], p.outStep, c.x[p.in:], p.inStep, ones, p.count) })
		c.divideByCount(r, y)
	}
	scratches[T]().put(s)
}

// divideByCount divides each pixel of output row r by the number of input pixels in its window.
func (c *conv[T]) divideByCount(r int, row []T) {
	lines := inside(r%c.OutH*c.StrideH-c.PadTop, c.KH, c.DilH, c.InH)
	for ow := range c.OutW {
		if n := lines * inside(ow*c.StrideW-c.PadLeft, c.KW, c.DilW, c.InW); n > 0 {
			scaleRange(row[ow*c.OutC:(ow+1)*c.OutC], 1/T(n))
		}
	}
}

// inside counts the k numbers from, from+step, ... that lie in [0, size).
func inside(from, k, step, size int) int {
	first, end := tapsInside(from, k, step, size)
	return end - first
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
	image, row := c.InH*c.InW*c.InC, c.OutW*c.OutC
	s := scratches[T]().get()
	buf := s.take(row + c.InC)
	share, ones := buf[:row], buf[row:]
	Fill(ones, 1)
	for n := lo; n < hi; n++ {
		clear(c.x[n*image : (n+1)*image])
		for r := n * c.OutH; r < (n+1)*c.OutH; r++ {
			copy(share, c.y[r*row:])
			c.divideByCount(r, share)
			c.taps(r, func(p pixelRun) {
				mulAddPixels(c.x[p.in:], p.inStep, share[p.out-r*row:], p.outStep, ones, p.count)
			})
		}
	}
	scratches[T]().put(s)
}
