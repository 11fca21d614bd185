package kernels

import "unsafe"

// winogradCold is the number of bytes from which a filter's points come from memory, not from a core's caches.
const winogradCold = 1 << 22

// dividesPoints reports whether threads divide the points of the forward direction instead of its tiles. They do if the tiles are
// so few that all of their points stay in the caches. Then only one thread reads each point of the filter.
func (c *conv[T]) dividesPoints() bool {
	tiles := c.Batch * c.tileRows() * c.tileColumns()
	return c.kept.Forms != nil && Threads() > 1 && tiles <= winogradTiles && winogradPoints*c.InC*c.OutC*int(unsafe.Sizeof(T(0))) >= winogradCold
}

// forwardByPoints does a convolution for which dividesPoints is true and recycles it.
func (c *conv[T]) forwardByPoints() {
	c.points = c.filterPoints()
	c.rows = c.Batch * c.tileRows()
	in, out := c.pointSizes()
	s := scratches[T]().get()
	all := s.take(in + out)
	c.in, c.out = all[:in], all[in:]
	c.run = pickConv[T](&doImagePoints)
	Parallel(c.rows, 1, c)
	c.run = pickConv[T](&doPointProducts)
	Parallel(winogradPoints, 1, c)
	c.run = pickConv[T](&doPointResults)
	Parallel(c.rows, 1, c)
	scratches[T]().put(s)
	c.recycle()
}

var (
	doImagePoints   = convFunc{runImagePoints[float32], runImagePoints[float64]}
	doPointProducts = convFunc{runPointProducts[float32], runPointProducts[float64]}
	doPointResults  = convFunc{runPointResults[float32], runPointResults[float64]}
)

func runImagePoints[T Float](c *conv[T], lo, hi int) {
	s := scratches[T]().get()
	f := c.formOf(c.in, c.out, s.take(c.linesSize()))
	for r := lo; r < hi; r++ {
		f.imagePoints(r, r*c.tileColumns())
	}
	f.recycle()
	scratches[T]().put(s)
}

func runPointProducts[T Float](c *conv[T], lo, hi int) {
	f := c.formOf(c.in, c.out, nil)
	f.product(f.forwardProduct(c.rows*c.tileColumns()), lo, hi, c.in, c.points, c.out)
	f.recycle()
}

func runPointResults[T Float](c *conv[T], lo, hi int) {
	f := c.formOf(c.in, c.out, nil)
	for r := lo; r < hi; r++ {
		f.result(r, r*c.tileColumns())
	}
	f.recycle()
}

// filterGradByPoints computes the gradient of a filter with more pairs of channels than winogradSums, and recycles the convolution.
// The sums of its points fit no core's caches, so it multiplies the points of many tiles at once, with a matrix product for each
// point: up to most elements of points, but at least a row of tiles.
func (c *conv[T]) filterGradByPoints(most int) {
	each := winogradPoints * c.tileColumns() * (c.InC + c.OutC)
	c.rows = max(1, min(c.Batch*c.tileRows(), most/each))
	pairs := c.InC * c.OutC
	in, out := c.pointSizes()
	s := scratches[T]().get()
	all := s.take(in + out + winogradPoints*pairStride[T](pairs))
	c.in, c.out, c.points = all[:in], all[in:in+out], all[in+out:]
	for c.at = range c.tileBlocks() {
		from, to := c.tileBlock(c.at)
		c.run = pickConv[T](&doPairedPoints)
		Parallel(to-from, 1, c)
		c.run = pickConv[T](&doPointSums)
		Parallel(winogradPoints, 1, c)
	}
	c.run = pickConv[T](&doTapGradients)
	Parallel(pairs, winogradCall, c)
	scratches[T]().put(s)
	c.recycle()
}

var (
	doPairedPoints = convFunc{runPairedPoints[float32], runPairedPoints[float64]}
	doPointSums    = convFunc{runPointSums[float32], runPointSums[float64]}
	doTapGradients = convFunc{runTapGradients[float32], runTapGradients[float64]}
)

// runPairedPoints transforms rows of tiles of the block, of the images and of the result's gradient.
func runPairedPoints[T Float](c *conv[T], lo, hi int) {
	s := scratches[T]().get()
	f := c.formOf(c.in, c.out, s.take(c.linesSize()))
	first, _ := c.tileBlock(c.at)
	for r := lo; r < hi; r++ {
		f.imagePoints(first+r, r*c.tileColumns())
		f.gradPoints(first+r, r*c.tileColumns())
	}
	f.recycle()
	scratches[T]().put(s)
}

// runPointSums adds the block's sums to points [lo, hi) of the gradient: [InC, tiles] x [tiles, OutC].
func runPointSums[T Float](c *conv[T], lo, hi int) {
	from, to := c.tileBlock(c.at)
	tiles := c.rows * c.tileColumns()
	a := GemmArgs[T]{M: c.InC, N: c.OutC, K: (to - from) * c.tileColumns(), Alpha: 1, TransA: true, LDA: c.InC, LDB: c.OutC, LDC: c.OutC}
	if c.at > 0 {
		a.Beta = 1
	}
	for i := lo; i < hi; i++ {
		a.A, a.B, a.C = c.in[i*pointStride[T](tiles, c.InC):], c.out[i*pointStride[T](tiles, c.OutC):], c.points[i*pairStride[T](c.InC*c.OutC):]
		gemmSerial(a)
	}
}

func runTapGradients[T Float](c *conv[T], lo, hi int) {
	tapGradients(c.w, c.points, c.InC*c.OutC, lo, hi)
}
