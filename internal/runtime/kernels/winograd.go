package kernels

import "unsafe"

// Winograd's form of a 3x3 convolution with stride 1, F(4x4, 3x3) after Lavin and Gray, "Fast algorithms for convolutional
// neural networks" (2015). Each tile of 6x6 pixels under 4x4 results becomes 36 numbers, so that the convolution is 36 products
// [tiles, InC] x [InC, OutC] with a quarter of the multiplications. The points are 0, +-sqrt(1/2), +-sqrt(2) and infinity, whose
// transforms lose fewer bits than transforms of small integers.
//
// Errors are about twice as large as in the direct form: about 1e-6 of the largest result, at most 4e-6 in TestWinograd. An
// infinity or NaN in the images reaches the whole tile.
const (
	winogradTile   = 4                // side of a tile in the result, in pixels
	winogradInput  = winogradTile + 2 // side of a tile in the images
	winogradPoints = winogradInput * winogradInput
)

// transform is one of the linear maps between pixels, filters and points.
type transform int

const (
	inputTransform      transform = iota // 6x6 pixels of the images to points
	outputTransform                      // points to 4x4 pixels of the result
	gradTransform                        // 4x4 pixels of the result's gradient to points
	filterTransform                      // 3x3 taps to points
	filterGradTransform                  // points to the gradient of 3x3 taps
	transformCount
)

// transformArgs are the arguments of the transforms' kernels; internal/runtime/kernels/gen has the offsets. Strides are in bytes.
type transformArgs struct {
	dst, src                unsafe.Pointer
	count                   int // number of tiles; outputTransform uses width instead
	cols                    int // contiguous elements: channels
	dstStep, dstRow, dstCol int // between tiles, and within one
	srcStep, srcRow, srcCol int
	bias, add               unsafe.Pointer // nil, or as in Epilogue; only for outputTransform, like relu, rows, width and scale
	relu                    uint64
	rows, width             int // pixels of the image from the first tile on
	scale                   unsafe.Pointer
	half                    [winogradPoints * cacheLine]byte // tiles after one dimension
}

var transformArgsFree freelist[transformArgs]

// Costs in multiplications of the direct form, measured on Zen 5. Decisions depend only on shapes, so that results do not
// depend on the number of threads.
const (
	winogradTiles   = 56      // tiles of a block, whose points stay in the L2 cache
	winogradPass    = 400     // transforms of one channel of a tile, in both directions
	winogradPair    = 650     // transform of one pair of channels of a filter, which one thread does
	winogradRow     = 1 << 16 // most elements of a row of the result or the images: a bound on one call of assembly
	winogradSums    = 1 << 14 // most pairs of channels of a filter's gradient whose sums of products stay in the caches
	winogradBlock   = 1 << 23 // elements of the points of a block, for more pairs: a bound on memory
	winogradBlocks  = 2       // blocks for each thread if these have winogradFewest tiles; smaller blocks only so that each thread has one
	winogradFewest  = 8       // least tiles of a block: fewer make products with too few rows for the points of the filter that they read
	winogradLanes   = 16      // channels of one vector
	winogradPercent = 90      // percent of the direct form's cost below which it pays
	winogradLarge   = 1 << 16 // pairs of channels of a filter whose points fit no cache: they are read from memory each time,
	winogradRead    = 28      // which takes as long as the products of this many tiles
	winogradStrips  = 1 << 13 // pairs of channels of a filter from which its points are in strips
)

// winograd reports whether the convolution uses Winograd's form. filters is how often it transforms a filter or its gradient.
func (c *conv[T]) winograd(filters int) bool {
	if !is32[T]() || c.Groups > 1 || c.KH != 3 || c.KW != 3 || c.StrideH != 1 || c.StrideW != 1 || c.DilH != 1 || c.DilW != 1 ||
		c.OutW*max(c.InC, c.OutC) > winogradRow {
		return false
	}
	pairs := c.InC * c.OutC
	channels := ceilDiv(c.InC, winogradLanes)*winogradLanes + ceilDiv(c.OutC, winogradLanes)*winogradLanes
	tiles := c.Batch * c.tileRows() * c.tileColumns()
	products := tiles
	if pairs >= winogradLarge {
		products = max(tiles, winogradRead)
	}
	cost := winogradPoints*pairs*products + winogradPass*channels*tiles + filters*winogradPair*pairs
	return cost*100 < c.pixels()*c.weights()*winogradPercent
}

// tileRows is the number of rows of tiles of an image, tileColumns the number of tiles of a row.
func (w *Window) tileRows() int    { return ceilDiv(w.OutH, winogradTile) }
func (w *Window) tileColumns() int { return ceilDiv(w.OutW, winogradTile) }

// winogradForm is a convolution in Winograd's form that is working on one block of rows of tiles.
type winogradForm[T Float] struct {
	*conv[T]
	transform *transformArgs
	tile      *tileArgs
	tiles     *tileSet
	line      int // elements of a padded line
	lines     []T // six lines, or four for the gradient
	in, out   pointSpace[T]
}

// pointSpace is [points, tiles, channels], with an additional cache line between two points, because at distances of a power of two
// they would share few lines of the caches.
type pointSpace[T Float] struct {
	data             []T
	stride, channels int
}

func newPointSpace[T Float](data []T, tiles, channels int) pointSpace[T] {
	return pointSpace[T]{data: data, stride: pointStride[T](tiles, channels), channels: channels}
}

func pointStride[T Float](tiles, channels int) int {
	line := cacheLine / int(unsafe.Sizeof(T(0)))
	return ceilDiv(tiles*channels, line)*line + line
}

// newWinogradForm makes room for blocks of c.rows rows of tiles; the caller recycles it.
func newWinogradForm[T Float](c *conv[T], s *scratch[T]) winogradForm[T] {
	in, out := c.pointSizes()
	all := s.take(in + out + c.linesSize())
	return c.formOf(all[:in], all[in:in+out], all[in+out:])
}

// pointSizes returns the numbers of elements of the points of c.rows rows of tiles, linesSize of the lines under one row.
func (c *conv[T]) pointSizes() (in, out int) {
	tiles := c.rows * c.tileColumns()
	return winogradPoints * pointStride[T](tiles, c.InC), winogradPoints * pointStride[T](tiles, c.OutC)
}

func (c *conv[T]) linesSize() int { return winogradInput * c.tileLine() * max(c.InC, c.OutC) }

// tileLine is the number of pixels of a padded line.
func (c *conv[T]) tileLine() int { return c.tileColumns()*winogradTile + winogradInput - winogradTile }

// formOf returns a form over the given points of c.rows rows of tiles.
func (c *conv[T]) formOf(in, out, lines []T) winogradForm[T] {
	tiles := c.rows * c.tileColumns()
	f := winogradForm[T]{conv: c, transform: transformArgsFree.get(), tile: newTile(0, 1), tiles: tilesFor[T](ActiveLevel()), line: c.tileLine(), lines: lines}
	f.in, f.out = newPointSpace(in, tiles, c.InC), newPointSpace(out, tiles, c.OutC)
	f.tile.alpha = floatBits(T(1))
	return f
}

func (f *winogradForm[T]) recycle() {
	recycleTile(f.tile)
	t := f.transform
	t.dst, t.src, t.scale, t.bias, t.add = nil, nil, nil, nil, nil
	transformArgsFree.put(t)
}

// byTiles prepares the forward direction in Winograd's form. A block has fewer rows of tiles if a few images would not keep all
// threads busy.
func (c *conv[T]) byTiles() (f *convFunc, blocks int) {
	c.rows = max(1, winogradTiles/c.tileColumns())
	if threads := Threads(); threads > 1 && c.pixels()*c.weights() >= convParallelFrom {
		rows := c.Batch * c.tileRows()
		full := min(ceilDiv(winogradFewest, c.tileColumns()), ceilDiv(rows, threads))
		c.rows = min(c.rows, max(ceilDiv(rows, threads*winogradBlocks), full))
	}
	c.points = c.filterPoints()
	return &doWinograd, c.tileBlocks()
}

// gradByTiles prepares the filter's gradient in Winograd's form. Sums are cut between blocks, and so only by shapes.
func (c *conv[T]) gradByTiles() (f *convFunc, blocks int) {
	c.rows = max(1, winogradTiles/c.tileColumns())
	return &doFilterGradWinograd, c.tileBlocks()
}

// pairStride is the distance between two points of a filter with that many pairs of channels.
func pairStride[T Float](pairs int) int { return pointStride[T](pairs, 1) }

// tileBlock returns the rows of tiles of block i, counted over the batch.
func (c *conv[T]) tileBlock(i int) (from, to int) {
	return i * c.rows, min((i+1)*c.rows, c.Batch*c.tileRows())
}

var doWinograd = convFunc{runWinograd[float32], runWinograd[float64]}

func runWinograd[T Float](c *conv[T], lo, hi int) {
	s := scratches[T]().get()
	f := newWinogradForm(c, s)
	for i := lo; i < hi; i++ {
		from, to := c.tileBlock(i)
		for r := from; r < to; r++ {
			f.imagePoints(r, (r-from)*c.tileColumns())
		}
		f.product(f.forwardProduct((to-from)*c.tileColumns()), 0, winogradPoints, f.in.data, c.points, f.out.data)
		for r := from; r < to; r++ {
			f.result(r, (r-from)*c.tileColumns())
		}
	}
	f.recycle()
	scratches[T]().put(s)
}

// forwardProduct returns the product of that many tiles with the filter.
func (f *winogradForm[T]) forwardProduct(tiles int) pointProduct {
	return pointProduct{m: tiles, n: f.OutC, k: f.InC, aRow: f.InC, aK: 1, aPoint: f.in.stride, bPoint: pairStride[T](f.InC * f.OutC),
		cPoint: f.out.stride, strips: f.kept.Forms != nil && inStrips(f.InC*f.OutC)}
}

// imagePoints transforms the images under row r of tiles; at is the number of its first tile in the block.
func (f *winogradForm[T]) imagePoints(r, at int) {
	n, y := r/f.tileRows(), r%f.tileRows()*winogradTile
	size := f.InH * f.InW * f.InC
	image := padding{height: f.InH, width: f.InW, channels: f.InC, left: f.PadLeft, columns: f.line}
	lines, line := padLines(image, f.lines, f.x[n*size:][:size], y-f.PadTop, winogradInput)
	f.toPoints(inputTransform, &f.in, at, lines, line)
}

// toPoints transforms a row of tiles, given its lines, to the points from tile at on.
func (f *winogradForm[T]) toPoints(kind transform, to *pointSpace[T], at int, lines []T, line int) {
	t, size := f.transform, int(unsafe.Sizeof(T(0)))
	t.dst, t.src = unsafe.Pointer(&to.data[at*to.channels]), unsafe.Pointer(&lines[0])
	t.count, t.cols = f.tileColumns(), to.channels
	t.dstStep, t.dstRow, t.dstCol = to.channels*size, winogradInput*to.stride*size, to.stride*size
	t.srcStep, t.srcRow, t.srcCol = winogradTile*to.channels*size, line*size, to.channels*size
	applyTransform[T](kind, t)
}

// result transforms the products of row r of tiles back to pixels.
func (f *winogradForm[T]) result(r, at int) {
	n, y := r/f.tileRows(), r%f.tileRows()*winogradTile
	t, size := f.transform, int(unsafe.Sizeof(T(0)))
	first := (n*f.OutH + y) * f.OutW * f.OutC
	t.dst, t.src = unsafe.Pointer(&f.y[first]), unsafe.Pointer(&f.out.data[at*f.OutC])
	t.count, t.cols, t.rows, t.width = f.tileColumns(), f.OutC, min(winogradTile, f.OutH-y), f.OutW
	t.dstStep, t.dstRow, t.dstCol = winogradTile*f.OutC*size, f.OutW*f.OutC*size, f.OutC*size
	t.srcStep, t.srcRow, t.srcCol = f.OutC*size, winogradInput*f.out.stride*size, f.out.stride*size
	t.scale, t.bias, t.add, t.relu = nil, nil, nil, 0
	if f.Scale != nil {
		t.scale = unsafe.Pointer(&f.Scale[0])
	}
	if f.Bias != nil {
		t.bias = unsafe.Pointer(&f.Bias[0])
	}
	if f.Add != nil {
		t.add = unsafe.Pointer(&f.Add[first])
	}
	if f.Relu {
		t.relu = 1
	}
	applyTransform[T](outputTransform, t)
}

// pointProduct is one product for each point, C [m, n] = A [m, k] * B [k, n]. Distances are in elements; B and C are n wide.
type pointProduct struct {
	m, n, k                int
	aRow, aK               int
	aPoint, bPoint, cPoint int
	strips                 bool // B is in strips: see pointStrips
	more                   bool // adds to C
}

// product computes the products of points [lo, hi).
func (f *winogradForm[T]) product(p pointProduct, lo, hi int, a, b, c []T) {
	t, size := f.tile, int(unsafe.Sizeof(T(0)))
	t.aRow, t.aK, t.bK, t.cRow, t.k = p.aRow*size, p.aK*size, p.n*size, p.n*size, p.k
	nr := f.tiles.width(p.m)
	if p.strips {
		nr = 2 * f.tiles.lanes
	}
	for i := lo; i < hi; i++ {
		a, b, c := a[i*p.aPoint:], b[i*p.bPoint:], c[i*p.cPoint:]
		for n := 0; n < p.n; n += nr {
			cols := min(nr, p.n-n)
			panels := ceilDiv(p.m, f.tiles.height(cols))
			if t.b = unsafe.Pointer(&b[n]); p.strips {
				t.b, t.bK = unsafe.Pointer(&b[n*p.k]), cols*size
			}
			for j := range panels {
				from, to := j*p.m/panels, (j+1)*p.m/panels
				t.a, t.c, t.old = unsafe.Pointer(&a[from*p.aRow]), unsafe.Pointer(&c[from*p.n+n]), nil
				if p.more {
					t.old = t.c
				}
				f.tiles.tile(t, to-from, cols)
			}
		}
	}
}

// inStrips reports whether the points of a kept filter with that many pairs of channels are in strips, because they do not stay in
// the L2 cache.
func inStrips(pairs int) bool { return pairs >= winogradStrips }

// pointStrips copies the points of a filter so that each is in consecutive strips of two vectors of columns, which are read from
// memory in order.
func pointStrips[T Float](dst, points []T, k, n int) {
	step, stride := 2*tilesFor[T](ActiveLevel()).lanes, pairStride[T](k*n)
	for i := range winogradPoints {
		to, from := dst[i*stride:], points[i*stride:]
		for at := 0; at < n; at += step {
			cols := min(step, n-at)
			copyRows(to[at*k:], cols, from[at:], n, cols, k)
		}
	}
}

// filterPoints returns the points of the filter.
func (c *conv[T]) filterPoints() []T {
	if c.kept.Forms != nil {
		return c.kept.winograd()
	}
	points := c.part.take(winogradPoints * pairStride[T](c.InC*c.OutC))
	filterPoints(points, c.w, c.InC*c.OutC)
	return points
}

// filterPoints transforms the taps w of a filter with that many pairs of channels.
func filterPoints[T Float](dst, w []T, pairs int) {
	t, size := transformArgsFree.get(), int(unsafe.Sizeof(T(0)))
	step := min(pairs, winogradCall)
	far := pairStride[T](pairs) * size
	t.dstRow, t.dstCol, t.srcRow, t.srcCol = winogradInput*far, far, 3*pairs*size, pairs*size
	for at := 0; at < pairs; at += step {
		t.dst, t.src, t.count, t.cols = unsafe.Pointer(&dst[at]), unsafe.Pointer(&w[at]), 1, min(step, pairs-at)
		applyTransform[T](filterTransform, t)
	}
	t.dst, t.src = nil, nil
	transformArgsFree.put(t)
}

// winogradCall bounds the pairs of channels of one call of a transform.
const winogradCall = 4096

// tapGradients is the transpose of filterPoints, for pairs [lo, hi) of the filter's pairs.
func tapGradients[T Float](dw, points []T, pairs, lo, hi int) {
	t, size := transformArgsFree.get(), int(unsafe.Sizeof(T(0)))
	far := pairStride[T](pairs) * size
	t.srcRow, t.srcCol, t.dstRow, t.dstCol = winogradInput*far, far, 3*pairs*size, pairs*size
	for at := lo; at < hi; at += winogradCall {
		t.dst, t.src, t.count, t.cols = unsafe.Pointer(&dw[at]), unsafe.Pointer(&points[at]), 1, min(winogradCall, hi-at)
		applyTransform[T](filterGradTransform, t)
	}
	t.dst, t.src = nil, nil
	transformArgsFree.put(t)
}

var doFilterGradWinograd = convFunc{runFilterGradWinograd[float32], runFilterGradWinograd[float64]}

// runFilterGradWinograd sums products of the images' points with the gradient's points: [InC, tiles] x [tiles, OutC].
func runFilterGradWinograd[T Float](c *conv[T], lo, hi int) {
	s, sums := scratches[T]().get(), scratches[T]().get()
	f := newWinogradForm(c, s)
	pairs := c.InC * c.OutC
	points := sums.take(winogradPoints * pairStride[T](pairs))
	blocks := c.tileBlocks()
	for i := lo; i < hi; i++ {
		first := i * blocks / c.parts
		last := (i + 1) * blocks / c.parts
		for b := first; b < last; b++ {
			from, to := c.tileBlock(b)
			for r := from; r < to; r++ {
				f.imagePoints(r, (r-from)*c.tileColumns())
				f.gradPoints(r, (r-from)*c.tileColumns())
			}
			f.product(pointProduct{m: c.InC, n: c.OutC, k: (to - from) * c.tileColumns(), aRow: 1, aK: c.InC, aPoint: f.in.stride,
				bPoint: f.out.stride, cPoint: pairStride[T](pairs), more: b > first}, 0, winogradPoints, f.in.data, f.out.data, points)
		}
		if first == last {
			clear(points)
		}
		tapGradients(c.partial[i*c.weights():(i+1)*c.weights()], points, pairs, 0, pairs)
	}
	f.recycle()
	scratches[T]().put(sums)
	scratches[T]().put(s)
}

// gradPoints is imagePoints for the gradient of the result.
func (f *winogradForm[T]) gradPoints(r, at int) {
	n, y := r/f.tileRows(), r%f.tileRows()*winogradTile
	size := f.OutH * f.OutW * f.OutC
	image := padding{height: f.OutH, width: f.OutW, channels: f.OutC, columns: f.tileColumns() * winogradTile}
	lines, line := padLines(image, f.lines, f.y[n*size:][:size], y, winogradTile)
	f.toPoints(gradTransform, &f.out, at, lines, line)
}

// tileBlocks is the number of blocks of the batch.
func (c *conv[T]) tileBlocks() int { return ceilDiv(c.Batch*c.tileRows(), c.rows) }
