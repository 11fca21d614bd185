package kernels

import "unsafe"

// winogradCold is the bytes of a filter's points from which they come from memory, not from a core's caches.
const winogradCold = 1 << 22

// dividesPoints reports whether threads divide the points of the forward direction, not its tiles: the tiles are so few that
// all of their points stay in the caches, and each point of the filter is read by one thread.
func (c *conv[T]) dividesPoints() bool {
	tiles := c.Batch * c.tileRows() * c.tileColumns()
	return c.kept.Forms != nil && Threads() > 1 && tiles <= winogradTiles && winogradPoints*c.InC*c.OutC*int(unsafe.Sizeof(T(0))) >= winogradCold
}

// forwardByPoints does such a convolution and recycles it.
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
