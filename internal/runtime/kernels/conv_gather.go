package kernels

// gathers reports whether a convolution with a packed filter is done as one product with all of its patches, which all workers
// gather into a matrix. It is if blocks of its few pixels would not keep the workers busy, and lines are not read in place.
func (c *conv[T]) gathers() bool {
	pixels := c.pixels()
	return pixels <= gatherMost*convBlock && pixels*c.patch() <= convGathered && (!c.direct() || c.crowds())
}

const (
	gatherMost = 4 // most blocks of pixels that are gathered at once
	crowdsMost = 6 // most pixels of a tile that share a set of the L1 cache
)

// crowds reports whether too many pixels of a tile share sets of the L1 cache to read lines in place.
func (c *conv[T]) crowds() bool {
	return c.filter != nil && sharing[T](min(c.filter.tiles.rows, c.OutW), c.StrideW*c.InC) > crowdsMost
}

// gathered does a convolution for which gathers is true and recycles it.
func (c *conv[T]) gathered() {
	c.colRow = apart[T](c.filter.tiles.rows, c.patch())
	s := scratches[T]().get()
	c.col = s.take(c.pixels() * c.colRow)
	c.run = pickConv[T](&doGather)
	Parallel(c.pixels(), c.filter.tiles.rows, c)
	MatMulPacked(PackedArgs[T]{M: c.pixels(), A: c.col, LDA: c.colRow, B: c.filter, C: c.y, LDC: c.OutC, Epilogue: c.Epilogue})
	scratches[T]().put(s)
	c.recycle()
}

var doGather = convFunc{runGather[float32], runGather[float64]}

func runGather[T Float](c *conv[T], lo, hi int) {
	im2col(&c.Window, c.col[lo*c.colRow:], c.colRow, c.x, lo, hi, 0)
}
