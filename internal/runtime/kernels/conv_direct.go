package kernels

import "unsafe"

// The direct form of convolution reads patches in place: for each pixel of an output row, a line of the filter meets KW*InC
// contiguous elements of a line of the padded image, one stride after the previous pixel's. Lines are copied only if
// they need padding, or to make a group of channels or the taps of a dilated filter contiguous.
const (
	directPixels  = 256     // output pixels of a block: its lines and results stay in the L1 or L2 cache
	directWidth   = 5       // least pixels of a row: shorter ones leave the micro-kernels mostly empty
	directFilter  = 1 << 16 // most elements of a strip of the filter, which goes through the caches once per tile
	directMostRow = 4096    // most pixels of a row: a bound on the copies of a block
	directCopied  = 1 << 22 // most elements that a block copies: strides, dilations and padding may leave much between its rows
	directTimes   = 64      // most copied elements for each element that it multiplies by an output channel
	directEach    = 2       // blocks for each thread if there are few images: lines between two blocks are padded for both
)

// direct reports whether the convolution takes the direct form.
func (w *Window) direct() bool {
	return (w.DilW == 1 || w.StrideW == 1) && ceilDiv(w.OutW, w.DilW) >= directWidth && w.OutW <= directMostRow &&
		w.patch()*min(w.groupOut(), 32) <= directFilter && w.linesFit()
}

// linesFit reports whether the lines under a block are few enough to copy.
func (w *Window) linesFit() bool {
	rows := w.blockRows()
	most := min(directCopied, directTimes*rows*w.OutW*w.patch())
	return w.under(rows) <= most/max(1, w.lineColumns()*w.groupIn())
}

// under is the number of lines under a number of output rows, and lineColumns the number of pixels of a padded line.
func (w *Window) under(rows int) int { return (rows-1)*w.StrideH + (w.KH-1)*w.DilH + 1 }
func (w *Window) lineColumns() int   { return (w.OutW-1)*w.StrideW + (w.KW-1)*w.DilW + 1 }

// blockRows is the number of output rows of a block. With dilation, a block also copies the lines between the taps of a row,
// so it gets more rows.
func (w *Window) blockRows() int {
	rows := directPixels / w.OutW
	if w.DilH > 1 {
		rows = max(rows, 2*(w.KH-1)*w.DilH)
	}
	return max(1, min(w.OutH, rows))
}

// directBlocks is the number of blocks of an image.
func (w *Window) directBlocks() int { return ceilDiv(w.OutH, w.blockRows()) }

// forwardRows is blockRows, or less if a few images would not keep all threads busy.
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
	phase     int // elements of a phase of a line: see gatherPhases
}

// block returns block i of the batch, with the given rows per block and the lines of a group of channels.
func (c *conv[T]) block(s *scratch[T], i, rows, group int) rowBlock[T] {
	blocks := ceilDiv(c.OutH, rows)
	n, oh := i/blocks, i%blocks*rows
	b := rowBlock[T]{row: n*c.OutH + oh, rows: min(rows, c.OutH-oh)}
	image := padding{height: c.InH, width: c.InW, channels: c.groupIn(), left: c.PadLeft, columns: c.lineColumns()}
	first, count := oh*c.StrideH-c.PadTop, c.under(b.rows)
	size := c.InH * c.InW * c.InC
	x := past(c.x[n*size:][:size], group*c.groupIn())
	if c.Groups < 2 && c.DilW == 1 {
		b.lines, b.line = padLines(image, s.take(count*image.columns*c.InC), x, first, count)
		return b
	}
	b.phase = ceilDiv(image.columns, c.DilW) * image.channels
	b.line = b.phase * c.DilW
	b.lines = s.take(count * b.line)
	for i := range count {
		gatherPhases(image, b.lines[i*b.line:][:b.line], x, first+i, c.InC, c.DilW)
	}
	return b
}

// gatherPhases copies line h of an image, whose pixels are pixel elements apart. Columns with the same number modulo phases
// become contiguous, one phase after the other, so that a filter with that dilation has none within each phase.
func gatherPhases[T Float](p padding, dst, image []T, h, pixel, phases int) {
	if h < 0 || h >= p.height {
		clear(dst)
		return
	}
	each := ceilDiv(p.columns, phases)
	for i := range phases {
		for j := range each {
			w, d := j*phases+i-p.left, dst[(i*each+j)*p.channels:][:p.channels]
			if w < 0 || w >= p.width {
				clear(d)
				continue
			}
			copyRun(d, image[(h*p.width+w)*pixel:])
		}
	}
}

// padding describes how the lines of an image are copied into longer lines.
type padding struct {
	height, width, channels int
	left, columns           int // pixels before the image, and of a padded line
}

// padLines returns count lines of an image from the given line on, zero outside of the image, and the distance between
// lines. The lines are in dst, or in the image itself if they need no padding.
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

// newTile returns tile arguments for a product whose op(A) is the lines of a block.
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
	in, out := c.groupIn(), c.groupOut()
	t := newTile(c.KW*in, c.KH)
	tiles, size := c.convTiles(), int(unsafe.Sizeof(T(0)))
	t.aRow, t.aK, t.cRow, t.alpha = c.StrideW*in*size, size, c.DilW*c.OutC*size, floatBits(T(1))
	if c.Relu {
		t.relu = 1
	}
	for i := lo; i < hi; i++ {
		for group := range c.split() {
			b := c.block(s, i, c.rows, group)
			t.aSkip = (c.DilH*b.line - t.k) * size
			for n, end := group*out, (group+1)*out; n < end; n += 2 * tiles.lanes {
				c.convStrip(t, tiles, b, n, min(2*tiles.lanes, end-n))
			}
		}
	}
	recycleTile(t)
	scratches[T]().put(s)
}

// convTiles returns the micro-kernels of a convolution: if its filter is packed, the ones that it was packed for.
func (c *conv[T]) convTiles() *tileSet {
	if c.filter != nil {
		return c.filter.tiles
	}
	return tilesFor[T](ActiveLevel())
}

// convStrip computes cols output channels from n on, at most two vectors, for a block. The tiles of a row have almost equal
// width.
func (c *conv[T]) convStrip(t *tileArgs, tiles *tileSet, b rowBlock[T], n, cols int) {
	size := int(unsafe.Sizeof(T(0)))
	if c.filter != nil {
		strip, ld, _ := c.filter.strip(n)
		t.b, t.bK = unsafe.Pointer(&strip[0]), ld*size
	} else {
		t.b, t.bK = unsafe.Pointer(&c.w[n]), c.OutC*size
	}
	if c.Scale != nil {
		t.scale = unsafe.Pointer(&c.Scale[n])
	}
	if c.Bias != nil {
		t.bias = unsafe.Pointer(&c.Bias[n])
	}
	for r := range b.rows {
		for phase := range min(c.DilW, c.OutW) {
			c.convRow(t, tiles, b.lines[r*c.StrideH*b.line+phase*b.phase:], (b.row+r)*c.OutW+phase, n, cols)
		}
	}
}

// convRow computes the pixels of a phase of a row, from pixel first of the batch on. Without dilation a phase is the whole row.
func (c *conv[T]) convRow(t *tileArgs, tiles *tileSet, line []T, first, n, cols int) {
	width := ceilDiv(c.OutW-first%c.OutW, c.DilW)
	count, step := ceilDiv(width, tiles.height(cols)), c.StrideW*c.groupIn()
	for i := range count {
		from, to := i*width/count, (i+1)*width/count
		at := (first+from*c.DilW)*c.OutC + n
		t.a, t.c = unsafe.Pointer(&line[from*step]), unsafe.Pointer(&c.y[at])
		if c.Add != nil {
			t.old = unsafe.Pointer(&c.Add[at])
		}
		tiles.tile(t, to-from, cols)
	}
}

var doFilterGradDirect = convFunc{runFilterGradDirect[float32], runFilterGradDirect[float64]}

// runFilterGradDirect sums over the pixels of a block at a time: k is a pixel, a run of k an output row.
func runFilterGradDirect[T Float](c *conv[T], lo, hi int) {
	s := scratches[T]().get()
	t := newTile(c.OutW, 0)
	size, in := int(unsafe.Sizeof(T(0))), c.groupIn()
	t.aRow, t.aK, t.bK, t.cRow, t.alpha = size, c.StrideW*in*size, c.DilW*c.OutC*size, c.OutC*size, floatBits(T(1))
	blocks := c.Batch * c.directBlocks()
	for i := lo; i < hi; i++ {
		dw := c.partial[i*c.weights() : (i+1)*c.weights()]
		from, to := i*blocks/c.parts, (i+1)*blocks/c.parts
		if from == to {
			clear(dw)
		}
		for j := from; j < to; j++ {
			for group := range c.split() {
				b := c.block(s, j, c.blockRows(), group)
				c.addBlock(t, b, dw, group, j > from)
			}
		}
	}
	recycleTile(t)
	scratches[T]().put(s)
}

// addBlock adds a block's part of the gradient of a group's filter or, unless more is set, overwrites it.
func (c *conv[T]) addBlock(t *tileArgs, b rowBlock[T], dw []T, group int, more bool) {
	size, dy := int(unsafe.Sizeof(T(0))), c.y[b.row*c.OutW*c.OutC:]
	part := func(line int, dy []T, more bool) {
		t.old = nil
		if more {
			t.old = unsafe.Pointer(&dw[0]) // add to what is there
		}
		for kh := range c.KH {
			c.filterLine(t, b.lines[line+kh*c.DilH*b.line:], dy, dw[kh*c.KW*c.groupIn()*c.OutC:], group)
		}
	}
	if c.DilW == 1 {
		t.runs, t.aSkip = b.rows, c.StrideH*b.line*size-c.OutW*t.aK
		part(0, dy, more)
		return
	}
	t.runs, t.aSkip = 1, 0
	for r := range b.rows {
		for phase := range min(c.DilW, c.OutW) {
			t.k = ceilDiv(c.OutW-phase, c.DilW)
			part(r*c.StrideH*b.line+phase*b.phase, dy[(r*c.OutW+phase)*c.OutC:], more || r+phase > 0)
		}
	}
}

// filterLine adds a block's part of the gradient of a line of the filter or, if t.old is nil, overwrites it.
func (c *conv[T]) filterLine(t *tileArgs, line, dy, dw []T, group int) {
	tiles, out := tilesFor[T](ActiveLevel()), c.groupOut()
	width, end := c.KW*c.groupIn(), (group+1)*out
	count := ceilDiv(width, tiles.rows)
	for i := range count {
		from, to := i*width/count, (i+1)*width/count
		t.a = unsafe.Pointer(&line[from])
		for n := group * out; n < end; n += 2 * tiles.lanes {
			t.b, t.c = unsafe.Pointer(&dy[n]), unsafe.Pointer(&dw[from*c.OutC+n])
			if t.old != nil {
				t.old = t.c
			}
			tiles.tile(t, to-from, min(2*tiles.lanes, end-n))
		}
	}
}
