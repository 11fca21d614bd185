package kernels

// MaxPool3D sets y to the largest element of each window and channel, as MaxPool does.
func MaxPool3D[T Float](v Volume, y, x []T) {
	_, _ = x[:v.inVolume()], y[:v.outVolume()]
	if v.outVolume() == 0 { // maxWindow does not support slices without pixels
		return
	}
	parallelEach(v.Batch*v.OutD, &volume[T]{Volume: v, x: x, y: y, f: maxSlice[T]})
}

// maxSlice takes the largest elements over depth, then over the windows of a slice.
func maxSlice[T Float](c *volume[T], i int) {
	s := scratches[T]().get()
	top := s.take(c.inSlice())
	c.largest(top, i)
	g := c.slice()
	MaxPool(g, c.y[i*c.outSlice():], top)
	scratches[T]().put(s)
}

// largest sets top to the largest elements of the input slices under output slice i, ignoring NaN.
func (c *volume[T]) largest(top []T, i int) {
	from := i%c.OutD*c.StrideD - c.PadFront
	first, end := tapsInside(from, c.KD, c.DilD, c.InD)
	if first == end {
		Fill(top, lowest[T]())
		return
	}
	at := (i/c.OutD*c.InD + from + first*c.DilD) * c.inSlice()
	maxWindow(top, c.x[at:], &pixelWindow{channels: c.InC, count: c.InH * c.InW, step: c.InC, lines: end - first, lineStep: c.DilD * c.inSlice(), taps: 1, tapStep: 1})
}

// MaxPool3DGrad sets dx: each dy is added to all elements of its window that equal y. As in TensorFlow, this differs from MaxPoolGrad,
// which uses only the first.
func MaxPool3DGrad[T Float](v Volume, dx, x, y, dy []T) {
	_, _, _, _ = x[:v.inVolume()], y[:v.outVolume()], dx[:v.inVolume()], dy[:v.outVolume()]
	parallelEach(v.Batch, &volume[T]{Volume: v, x: x, w: dx, y: y, dy: dy, f: routeVolume[T]})
}

func routeVolume[T Float](c *volume[T], n int) {
	clear(c.w[n*c.InD*c.inSlice():][:c.InD*c.inSlice()])
	for i := n * c.OutD; i < (n+1)*c.OutD; i++ {
		for p := range c.OutH * c.OutW {
			at := i*c.outSlice() + p*c.OutC
			for k := range c.OutC {
				c.route(i, p, k, c.y[at+k], c.dy[at+k])
			}
		}
	}
}

// route adds dy to the elements of channel k in the window of output pixel p of slice i that equal y.
func (c *volume[T]) route(i, p, k int, y, dy T) {
	top, left := p/c.OutW*c.StrideH-c.PadTop, p%c.OutW*c.StrideW-c.PadLeft
	kh0, kh1 := tapsInside(top, c.KH, c.DilH, c.InH)
	kw0, kw1 := tapsInside(left, c.KW, c.DilW, c.InW)
	c.depths(i, func(_, in int) {
		for kh := kh0; kh < kh1; kh++ {
			for kw := kw0; kw < kw1; kw++ {
				if j := in*c.inSlice() + ((top+kh*c.DilH)*c.InW+left+kw*c.DilW)*c.InC + k; c.x[j] == y {
					c.w[j] += dy
				}
			}
		}
	})
}

// AvgPool3D sets y to the mean of each window and channel over the elements inside the volume.
func AvgPool3D[T Float](v Volume, y, x []T) {
	_, _ = x[:v.inVolume()], y[:v.outVolume()]
	parallelEach(v.Batch*v.OutD, &volume[T]{Volume: v, x: x, y: y, f: meanSlice[T]})
}

// meanSlice takes the mean over depth of the means of slices, each over the same pixels.
func meanSlice[T Float](c *volume[T], i int) {
	s, g := scratches[T]().get(), c.slice()
	mean, y, n := s.take(c.outSlice()), c.y[i*c.outSlice():][:c.outSlice()], 0
	clear(y)
	c.depths(i, func(_, in int) {
		AvgPool(g, mean, c.x[in*c.inSlice():])
		binaryRange(Add, y, y, mean)
		n++
	})
	if n > 1 {
		scaleRange(y, 1/T(n))
	}
	scratches[T]().put(s)
}

// AvgPool3DGrad sets dx: each dy is shared equally by the elements of its window inside the volume.
func AvgPool3DGrad[T Float](v Volume, dx, dy []T) {
	_, _ = dx[:v.inVolume()], dy[:v.outVolume()]
	parallelEach(v.Batch, &volume[T]{Volume: v, x: dx, dy: dy, f: shareVolume[T]})
}

func shareVolume[T Float](c *volume[T], n int) {
	s, g := scratches[T]().get(), c.slice()
	part := s.take(c.inSlice())
	clear(c.x[n*c.InD*c.inSlice():][:c.InD*c.inSlice()])
	for i := n * c.OutD; i < (n+1)*c.OutD; i++ {
		AvgPoolGrad(g, part, c.dy[i*c.outSlice():])
		count := 0
		c.depths(i, func(int, int) { count++ })
		scaleRange(part, 1/T(max(count, 1)))
		c.depths(i, func(_, in int) {
			dx := c.x[in*c.inSlice():][:c.inSlice()]
			binaryRange(Add, dx, dx, part)
		})
	}
	scratches[T]().put(s)
}
