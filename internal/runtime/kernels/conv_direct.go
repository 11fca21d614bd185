package kernels

import "unsafe"

// The direct form of convolution reads patches in place: under the pixels of one output row, a line of the filter meets
// KW*InC elements that lie together in a line of the padded image, one pixel's stride apart. Lines are copied only where
// they need padding.
const (
	directPixels  = 256     // output pixels of a block: its lines and results stay in the L1 or L2 cache
	directWidth   = 5       // shorter rows of pixels leave the micro-kernels mostly empty
	directFilter  = 1 << 16 // elements of a strip of the filter that may go through the caches once a tile
	directMostRow = 4096    // pixels of a row: a bound on what a block copies
	directEach    = 2       // blocks for each thread where there are few images: lines between two blocks are padded for both
)

// direct reports whether the convolution takes the direct form.
func (w *Window) direct() bool {
	return w.DilW == 1 && w.OutW >= directWidth && w.OutW <= directMostRow && w.patch()*min(w.OutC, 32) <= directFilter
}

// blockRows is how many output rows make a block.
func (w *Window) blockRows() int { return max(1, min(w.OutH, directPixels/w.OutW)) }

// directBlocks is the number of blocks of an image.
func (w *Window) directBlocks() int { return ceilDiv(w.OutH, w.blockRows()) }

// forwardRows is blockRows, or less where a few images would not keep all threads busy.
func (w *Window) forwardRows() int {
	threads := Threads()
	if w.pixels()*w.weights() < convParallelFrom || threads == 1 {
		return w.blockRows()
	}
	each := ceilDiv(threads*directEach, w.Batch) // blocks of an image
	return min(w.blockRows(), ceilDiv(w.OutH, each))
}

// convParallelFrom is the number of multiplications from which a convolution is worth more than one thread.
const convParallelFrom = 100_000

// rowBlock is a range of output rows of one image and the padded lines under them.
type rowBlock[T Float] struct {
	row, rows int // the first row, counted over the batch
	lines     []T
	line      int // elements of a line
}

// block returns block i of the batch, blocks having so many rows.
func (c *conv[T]) block(s *scratch[T], i, rows int) rowBlock[T] {
	blocks := ceilDiv(c.OutH, rows)
	n, oh := i/blocks, i%blocks*rows
	b := rowBlock[T]{row: n*c.OutH + oh, rows: min(rows, c.OutH-oh)}
	image := padding{height: c.InH, width: c.InW, channels: c.InC, left: c.PadLeft, columns: (c.OutW-1)*c.StrideW + c.KW}
	first, count := oh*c.StrideH-c.PadTop, (b.rows-1)*c.StrideH+(c.KH-1)*c.DilH+1
	size := c.InH * c.InW * c.InC
	b.lines, b.line = padLines(image, s.take(count*image.columns*c.InC), c.x[n*size:][:size], first, count)
	return b
}

// padding is how the lines of an image go into longer ones.
type padding struct {
	height, width, channels int
	left, columns           int // pixels before the image's, and of a line
}

// padLines returns count lines of an image from the given one on, zero where there is no image, and the distance between
// two: in dst, or the image itself where nothing is missing.
func padLines[T Float](p padding, dst, image []T, first, count int) (lines []T, line int) {
	if first >= 0 && first+count <= p.height && p.left == 0 && p.columns <= p.width {
		line = p.width * p.channels
		return image[first*line:], line
	}
	line = p.columns * p.channels
	from, to := max(0, p.left), min(p.columns, p.left+p.width)
	for i := range count {
		dst, h := dst[i*line:][:line], first+i
		if h < 0 || h >= p.height || from >= to {
			clear(dst)
			continue
		}
		clear(dst[:from*p.channels])
		copy(dst[from*p.channels:to*p.channels], image[(h*p.width+from-p.left)*p.channels:])
		clear(dst[to*p.channels:])
	}
	return dst, line
}

// newTile returns tile arguments for a product with op(A) = the lines of a block.
func newTile(k, runs int) *tileArgs {
	t := tileArgsFree.get()
	*t = tileArgs{k: k, runs: runs}
	return t
}

var tileArgsFree freelist[tileArgs]

func recycleTile(t *tileArgs) {
	*t = tileArgs{}
	tileArgsFree.put(t)
}

var doConvDirect = convFunc{runConvDirect[float32], runConvDirect[float64]}

func runConvDirect[T Float](c *conv[T], lo, hi int) {
	s := scratches[T]().get()
	t := newTile(c.KW*c.InC, c.KH)
	tiles, size := c.convTiles(), int(unsafe.Sizeof(T(0)))
	t.aRow, t.aK, t.cRow, t.alpha = c.StrideW*c.InC*size, size, c.OutC*size, floatBits(T(1))
	if c.Relu {
		t.relu = 1
	}
	for i := lo; i < hi; i++ {
		b := c.block(s, i, c.rows)
		t.aSkip = (c.DilH*b.line - t.k) * size
		for n := 0; n < c.OutC; n += 2 * tiles.lanes {
			c.convStrip(t, tiles, b, n)
		}
	}
	recycleTile(t)
	scratches[T]().put(s)
}

// convTiles returns the micro-kernels of a convolution: those that its filter was packed for.
func (c *conv[T]) convTiles() *tileSet {
	if c.filter != nil {
		return c.filter.tiles
	}
	return tilesFor[T](ActiveLevel())
}

// convStrip does the output channels from n on, two vectors of them, for a block. The tiles of a row are of almost equal
// width.
func (c *conv[T]) convStrip(t *tileArgs, tiles *tileSet, b rowBlock[T], n int) {
	cols, size := min(2*tiles.lanes, c.OutC-n), int(unsafe.Sizeof(T(0)))
	count := ceilDiv(c.OutW, tiles.height(cols))
	if c.filter != nil {
		strip, ld, _ := c.filter.strip(n)
		t.b, t.bK = unsafe.Pointer(&strip[0]), ld*size
	} else {
		t.b, t.bK = unsafe.Pointer(&c.w[n]), c.OutC*size
	}
	if c.Bias != nil {
		t.bias = unsafe.Pointer(&c.Bias[n])
	}
	for r := range b.rows {
		line, first := b.lines[r*c.StrideH*b.line:], (b.row+r)*c.OutW
		for i := range count {
			from, to := i*c.OutW/count, (i+1)*c.OutW/count
			at := (first+from)*c.OutC + n
			t.a, t.c = unsafe.Pointer(&line[from*c.StrideW*c.InC]), unsafe.Pointer(&c.y[at])
			if c.Add != nil {
				t.old = unsafe.Pointer(&c.Add[at])
			}
			tiles.tile(t, to-from, cols)
		}
	}
}

var doFilterGradDirect = convFunc{runFilterGradDirect[float32], runFilterGradDirect[float64]}

// runFilterGradDirect sums over the pixels of a block at a time: k is a pixel, a run of k an output row.
func runFilterGradDirect[T Float](c *conv[T], lo, hi int) {
	s := scratches[T]().get()
	t := newTile(c.OutW, 0)
	tiles, size := tilesFor[T](ActiveLevel()), int(unsafe.Sizeof(T(0)))
	t.aRow, t.aK, t.bK, t.cRow, t.alpha = size, c.StrideW*c.InC*size, c.OutC*size, c.OutC*size, floatBits(T(1))
	blocks := c.Batch * c.directBlocks()
	for i := lo; i < hi; i++ {
		dw := c.partial[i*c.weights() : (i+1)*c.weights()]
		from, to := i*blocks/c.groups, (i+1)*blocks/c.groups
		if from == to {
			clear(dw)
		}
		t.old = nil
		for j := from; j < to; j++ {
			b := c.block(s, j, c.blockRows())
			t.runs, t.aSkip = b.rows, c.StrideH*b.line*size-c.OutW*t.aK
			for kh := range c.KH {
				c.filterLine(t, tiles, b, dw, kh)
			}
			t.old = t.c // from now on something is there
		}
	}
	recycleTile(t)
	scratches[T]().put(s)
}

// filterLine adds a block's part of the gradient of line kh of the filter, or sets it to the first one.
func (c *conv[T]) filterLine(t *tileArgs, tiles *tileSet, b rowBlock[T], dw []T, kh int) {
	width := c.KW * c.InC
	count := ceilDiv(width, tiles.rows)
	line, dy := b.lines[kh*c.DilH*b.line:], c.y[b.row*c.OutW*c.OutC:]
	for i := range count {
		from, to := i*width/count, (i+1)*width/count
		t.a = unsafe.Pointer(&line[from])
		for n := 0; n < c.OutC; n += 2 * tiles.lanes {
			t.b, t.c = unsafe.Pointer(&dy[n]), unsafe.Pointer(&dw[(kh*width+from)*c.OutC+n])
			if t.old != nil {
				t.old = t.c
			}
			tiles.tile(t, to-from, min(2*tiles.lanes, c.OutC-n))
		}
	}
}
