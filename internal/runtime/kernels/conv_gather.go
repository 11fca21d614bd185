package kernels

// gathers reports whether a convolution with a packed filter is one product with all of its patches, gathered to a matrix by all
// workers: where its pixels are so few that blocks of them would not keep the workers busy, and lines are not read in place.
func (c *conv[T]) gathers() bool {
	pixels := c.pixels()
	return pixels <= gatherMost*convBlock && pixels*c.patch() <= convGathered && (!c.direct() || c.crowds())
}

const (
	gatherMost = 4 // blocks of pixels that are gathered at once
	crowdsMost = 6 // most pixels of a tile that share a set of the L1 cache
)

// crowds reports whether the pixels of a tile share sets of the L1 cache, so that lines are better not read in place.
func (c *conv[T]) crowds() bool {
	return c.filter != nil && sharing[T](min(c.filter.tiles.rows, c.OutW), c.StrideW*c.InC) > crowdsMost
}

// gathered does such a convolution and recycles it.
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
