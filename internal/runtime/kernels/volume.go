package kernels

// Volume is the geometry of a convolution or pooling over volumes in NDHWC layout: a Window for each slice, and the same sizes for
// depth. Filters are [KD, KH, KW, InC/Groups, OutC].
type Volume struct {
	Window
	InD, OutD, KD int
	StrideD, DilD int // >= 1
	PadFront      int
}

func (v *Volume) inSlice() int   { return v.InH * v.InW * v.InC }
func (v *Volume) outSlice() int  { return v.OutH * v.OutW * v.OutC }
func (v *Volume) inVolume() int  { return v.Batch * v.InD * v.inSlice() }
func (v *Volume) outVolume() int { return v.Batch * v.OutD * v.outSlice() }

// slice returns the window of one slice.
func (v *Volume) slice() Window {
	w := v.Window
	w.Batch = 1
	return w
}

// depths calls f for each tap of depth that meets output slice i, counted over the batch, with the input slice under it.
func (v *Volume) depths(i int, f func(kd, in int)) {
	n, from := i/v.OutD, i%v.OutD*v.StrideD-v.PadFront
	first, end := tapsInside(from, v.KD, v.DilD, v.InD)
	for kd := first; kd < end; kd++ {
		f(kd, n*v.InD+from+kd*v.DilD)
	}
}

// volume is an operation on volumes in progress.
type volume[T Float] struct {
	Volume
	f       func(c *volume[T], i int)
	x, w, y []T
	dy      []T
	parts   int
	partial []T
}

// Run implements Task.
func (c *volume[T]) Run(lo, hi int) {
	for i := lo; i < hi; i++ {
		c.f(c, i)
	}
}

// Conv3D sets y = conv(x, w), with a sum of products over depth for each block of pixels.
func Conv3D[T Float](v Volume, y, x, w []T) {
	_, _, _ = x[:v.inVolume()], w[:v.KD*v.weights()], y[:v.outVolume()]
	parallelEach(v.Batch*v.OutD, &volume[T]{Volume: v, x: x, w: w, y: y, f: convSlice[T]})
}

func convSlice[T Float](c *volume[T], i int) {
	s, g, k, out, pixels := scratches[T]().get(), c.slice(), c.patch(), c.groupOut(), c.blockPixels()
	col := s.take(pixels * k)
	y := c.y[i*c.outSlice():][:c.outSlice()]
	clear(y)
	for from := 0; from < g.pixels(); from += pixels {
		to := min(from+pixels, g.pixels())
		c.depths(i, func(kd, in int) {
			for j := range c.split() {
				im2col(&g, col, g.patch(), c.x[in*c.inSlice():], from, to, j)
				gemmSerial(GemmArgs[T]{M: to - from, N: out, K: k, Alpha: 1, A: col, LDA: k, B: c.w[kd*c.weights()+j*out:], LDB: c.OutC,
					Beta: 1, C: y[from*c.OutC+j*out:], LDC: c.OutC})
			}
		})
	}
	scratches[T]().put(s)
}

// Conv3DInputGrad sets dx to the gradient of Conv3D's x, given dy.
func Conv3DInputGrad[T Float](v Volume, dx, dy, w []T) {
	_, _, _ = dx[:v.inVolume()], w[:v.KD*v.weights()], dy[:v.outVolume()]
	parallelEach(v.Batch, &volume[T]{Volume: v, x: dx, w: w, dy: dy, f: spreadVolume[T]})
}

// spreadVolume does a whole volume, because patches overlap.
func spreadVolume[T Float](c *volume[T], n int) {
	s, g, k, out, pixels := scratches[T]().get(), c.slice(), c.patch(), c.groupOut(), c.blockPixels()
	buf := s.take(pixels*k + c.groupIn())
	col, ones := buf[:pixels*k], buf[pixels*k:]
	Fill(ones, 1)
	clear(c.x[n*c.InD*c.inSlice():][:c.InD*c.inSlice()])
	for i := n * c.OutD; i < (n+1)*c.OutD; i++ {
		dy := c.dy[i*c.outSlice():][:c.outSlice()]
		c.depths(i, func(kd, in int) {
			for from := 0; from < g.pixels(); from += pixels {
				to := min(from+pixels, g.pixels())
				for j := range c.split() {
					gemmSerial(GemmArgs[T]{M: to - from, N: k, K: out, Alpha: 1, A: dy[from*c.OutC+j*out:], LDA: c.OutC,
						B: c.w[kd*c.weights()+j*out:], LDB: c.OutC, TransB: true, C: col, LDC: k})
					col2im(&g, past(c.x, in*c.inSlice()+j*c.groupIn()), col, ones, from, to)
				}
			}
		})
	}
	scratches[T]().put(s)
}

// Conv3DFilterGrad sets dw to the gradient of Conv3D's w, given x and dy.
func Conv3DFilterGrad[T Float](v Volume, dw, x, dy []T) {
	size := v.KD * v.weights()
	_, _, _ = x[:v.inVolume()], dw[:size], dy[:v.outVolume()]
	s := scratches[T]().get()
	parts := filterGroups(v.Batch*v.OutD, size)
	c := &volume[T]{Volume: v, x: x, dy: dy, f: sumSlices[T], parts: parts, partial: s.take(parts * size)}
	parallelEach(parts, c)
	columns(colSum, dw[:size], c.partial, nil, nil, parts)
	scratches[T]().put(s)
}

// sumSlices sums a part of the output slices.
func sumSlices[T Float](c *volume[T], part int) {
	s, g, k, out, pixels := scratches[T]().get(), c.slice(), c.patch(), c.groupOut(), c.blockPixels()
	col, size, slices := s.take(pixels*k), c.KD*c.weights(), c.Batch*c.OutD
	dw := c.partial[part*size:][:size]
	clear(dw)
	for i := part * slices / c.parts; i < (part+1)*slices/c.parts; i++ {
		dy := c.dy[i*c.outSlice():][:c.outSlice()]
		c.depths(i, func(kd, in int) {
			for from := 0; from < g.pixels(); from += pixels {
				to := min(from+pixels, g.pixels())
				for j := range c.split() {
					im2col(&g, col, g.patch(), c.x[in*c.inSlice():], from, to, j)
					gemmSerial(GemmArgs[T]{M: k, N: out, K: to - from, Alpha: 1, A: col, LDA: k, TransA: true,
						B: dy[from*c.OutC+j*out:], LDB: c.OutC, Beta: 1, C: dw[kd*c.weights()+j*out:], LDC: c.OutC})
				}
			}
		})
	}
	scratches[T]().put(s)
}
