package kernels

import "unsafe"

// Window is the geometry of a convolution or pooling over images in NHWC layout. Padding after the image follows from
// the output size. Filters are [KH, KW, InC, OutC]; a depthwise filter is [KH, KW, InC, OutC/InC].
type Window struct {
	Batch            int
	InH, InW, InC    int
	OutH, OutW, OutC int // pooling: OutC is InC
	KH, KW           int
	StrideH, StrideW int // >= 1
	DilH, DilW       int // >= 1
	PadTop, PadLeft  int
	Groups           int // groups of channels, each convolved by itself: the filter is [KH, KW, InC/Groups, OutC]; 0 means 1
}

// OutSize returns the output length of one dimension and the padding before it, by TensorFlow's rules for SAME and VALID. A
// negative length means that the window is too large. If it is too large by less than a stride, the length is 0.
func OutSize(in, k, stride, dilation int, same bool) (out, before int) {
	span := (k-1)*dilation + 1
	if !same {
		return (in - span + stride) / stride, 0
	}
	out = ceilDiv(in, stride)
	return out, max(0, (out-1)*stride+span-in) / 2
}

func (w *Window) inSize() int  { return w.Batch * w.InH * w.InW * w.InC }
func (w *Window) outSize() int { return w.Batch * w.OutH * w.OutW * w.OutC }
func (w *Window) pixels() int  { return w.Batch * w.OutH * w.OutW }
func (w *Window) patch() int   { return w.KH * w.KW * w.groupIn() }
func (w *Window) weights() int { return w.patch() * w.OutC }
func (w *Window) pointwise() bool {
	return w.Groups < 2 && w.KH == 1 && w.KW == 1 && w.StrideH == 1 && w.StrideW == 1 && w.PadTop == 0 && w.PadLeft == 0 &&
		w.InH == w.OutH && w.InW == w.OutW
}

const (
	convBlock    = 128     // most output pixels that a task gathers into one matrix: it must fit the L2 cache, and the filter is used unpacked
	convGathered = 1 << 22 // elements of such a matrix, unless one patch has more: a bound on memory
)

// blockPixels is the number of output pixels that a task gathers into one matrix.
func (w *Window) blockPixels() int {
	return max(1, min(convBlock, convGathered/max(1, w.patch())))
}

// conv is one convolution in progress.
type conv[T Float] struct {
	Window
	run     func(c *conv[T], lo, hi int)
	x, w, y []T
	dy      []T         // for pooling
	kept    Filter[T]   // for Conv2DPacked, in place of w
	filter  *PackedB[T] // kept's packed form, unless the form is Winograd's
	Epilogue[T]
	parts   int // parts of a sum over pixels
	rows    int // rows of a forward block, or rows of tiles
	col     []T // patches, a row for each pixel: see gathers
	colRow  int // elements between patches
	points  []T // the filter, or its gradient, in Winograd's form
	in, out []T // points of all tiles or of a block: see dividesPoints and filterGradByPoints
	at      int // the current block of tiles
	part    scratch[T]
	partial []T
}

// Run implements Task.
func (c *conv[T]) Run(lo, hi int) { c.run(c, lo, hi) }

var (
	convs32 freelist[conv[float32]]
	convs64 freelist[conv[float64]]
)

func convs[T Float]() *freelist[conv[T]] {
	if is32[T]() {
		return (*freelist[conv[T]])(unsafe.Pointer(&convs32))
	}
	return (*freelist[conv[T]])(unsafe.Pointer(&convs64))
}

// convFunc is a range function for both element types; see spanFunc.
type convFunc struct {
	f32 func(c *conv[float32], lo, hi int)
	f64 func(c *conv[float64], lo, hi int)
}

func pickConv[T Float](f *convFunc) func(c *conv[T], lo, hi int) {
	if is32[T]() {
		return *(*func(c *conv[T], lo, hi int))(unsafe.Pointer(&f.f32))
	}
	return *(*func(c *conv[T], lo, hi int))(unsafe.Pointer(&f.f64))
}

func newConv[T Float](g Window, f *convFunc, x, w, y []T) *conv[T] {
	c := convs[T]().get()
	c.Window, c.x, c.w, c.y = g, x, w, y
	if f != nil {
		c.run = pickConv[T](f)
	}
	return c
}

func (c *conv[T]) recycle() {
	part := c.part
	*c = conv[T]{part: part}
	convs[T]().put(c)
}

// Conv2D sets y = conv(x, w), plus bias (nil, or OutC elements), clipped below zero if relu.
func Conv2D[T Float](g Window, y, x, w, bias []T, relu bool) {
	_, _, _ = x[:g.inSize()], w[:g.weights()], y[:g.outSize()]
	if g.pointwise() {
		Gemm(GemmArgs[T]{M: g.pixels(), N: g.OutC, K: g.InC, Alpha: 1, A: x, LDA: g.InC, B: w, LDB: g.OutC,
			C: y, LDC: g.OutC, Bias: bias, Relu: relu})
		return
	}
	if g.Groups > 1 && inGroups(g, y, x, w, bias, relu) {
		return
	}
	if g.sampled() {
		convSampled(g, y, x, w, bias, relu)
		return
	}
	c := newConv(g, nil, x, w, y)
	c.Epilogue = Epilogue[T]{Bias: bias, Relu: relu}
	c.forward()
}

// Conv2DPacked sets y = conv(x, filter) with the given epilogue. The filter must be packed for the same window.
func Conv2DPacked[T Float](g Window, y, x []T, filter Filter[T], e Epilogue[T]) {
	_, _ = x[:g.inSize()], y[:g.outSize()]
	filter.Forms.check(g.patch(), g.OutC)
	e.check(g.OutC, g.outSize())
	if g.pointwise() {
		MatMulPacked(PackedArgs[T]{M: g.pixels(), A: x, LDA: g.InC, B: filter.operand(), C: y, LDC: g.OutC, Epilogue: e})
		return
	}
	c := newConv(g, nil, x, nil, y)
	c.kept, c.Epilogue = filter, e
	c.forward()
}

// forward runs and recycles a convolution that is not a plain product.
func (c *conv[T]) forward() {
	f, tasks := &doConv, ceilDiv(c.pixels(), c.blockPixels())
	filters := 1
	if c.kept.Forms != nil {
		filters = 0 // the filter's points are kept
	}
	tiled := c.winograd(filters)
	if tiled && c.dividesPoints() {
		c.forwardByPoints()
		return
	}
	if c.kept.Forms != nil && !tiled {
		c.filter = c.kept.operand()
	}
	switch {
	case tiled:
		f, tasks = c.byTiles()
	case c.filter != nil && c.gathers():
		c.gathered()
		return
	case c.direct() && !c.crowds():
		c.rows = c.forwardRows()
		f, tasks = &doConvDirect, c.Batch*ceilDiv(c.OutH, c.rows)
	}
	c.run = pickConv[T](f)
	Parallel(tasks, 1, c)
	c.recycle()
}

var doConv = convFunc{runConv[float32], runConv[float64]}

func runConv[T Float](c *conv[T], lo, hi int) {
	s := scratches[T]().get()
	k, pixels := apart[T](c.convTiles().rows, c.patch()), c.blockPixels()
	col := s.take(pixels * k)
	for i := lo; i < hi; i++ {
		from, to := i*pixels, min((i+1)*pixels, c.pixels())
		y := c.y[from*c.OutC:]
		if c.filter == nil {
			c.products(col, y, from, to)
			continue
		}
		im2col(&c.Window, col, k, c.x, from, to, 0)
		e := c.Epilogue
		if e.Add != nil {
			e.Add = e.Add[from*c.OutC:]
		}
		packedSerial(PackedArgs[T]{M: to - from, A: col, LDA: k, B: c.filter, C: y, LDC: c.OutC, Epilogue: e})
	}
	scratches[T]().put(s)
}

// products sets pixels [from, to) of the result y, with one product for each group.
func (c *conv[T]) products(col, y []T, from, to int) {
	k, out := c.patch(), c.groupOut()
	for i := range c.split() {
		im2col(&c.Window, col, k, c.x, from, to, i)
		a := GemmArgs[T]{M: to - from, N: out, K: k, Alpha: 1, A: col, LDA: k, B: c.w[i*out:], LDB: c.OutC,
			C: y[i*out:], LDC: c.OutC, Relu: c.Relu}
		if c.Bias != nil {
			a.Bias = c.Bias[i*out:][:out]
		}
		gemmSerial(a)
	}
}

// Conv2DInputGrad sets dx to the gradient of Conv2D's x, given dy.
func Conv2DInputGrad[T Float](g Window, dx, dy, w []T) {
	_, _, _ = dx[:g.inSize()], w[:g.weights()], dy[:g.outSize()]
	switch {
	case g.pointwise():
		Gemm(GemmArgs[T]{M: g.pixels(), N: g.InC, K: g.OutC, Alpha: 1, A: dy, LDA: g.OutC, B: w, LDB: g.OutC,
			TransB: true, C: dx, LDC: g.InC})
	case g.Groups > 1 && inputGradInGroups(g, dx, dy, w):
	case g.sampled():
		inputGradSampled(g, dx, dy, w)
	case g.StrideH == 1 && g.StrideW == 1:
		s := scratches[T]().get()
		back, flipped := flipFilter(g, s.take(g.weights()), w)
		Conv2D(back, dx, dy, flipped, nil, false)
		scratches[T]().put(s)
	default:
		c := newConv(g, &doConvInputGrad, dx, w, dy)
		c.rows = g.gradImages()
		Parallel(ceilDiv(g.Batch, c.rows), 1, c)
		c.recycle()
	}
}

// flipFilter turns the input gradient of a convolution of stride 1 into a convolution of dy by the filter, rotated by
// 180 degrees and with its channels exchanged within each group.
func flipFilter[T Float](g Window, dst, w []T) (Window, []T) {
	in, out := g.groupIn(), g.groupOut()
	for i := range g.KH * g.KW {
		for j := range g.split() {
			transposeRange(dst[(g.KH*g.KW-1-i)*out*g.InC+j*in:], g.InC, w[i*in*g.OutC+j*out:], g.OutC, in, out)
		}
	}
	g.InH, g.OutH = g.OutH, g.InH
	g.InW, g.OutW = g.OutW, g.InW
	g.InC, g.OutC = g.OutC, g.InC
	g.PadTop = (g.KH-1)*g.DilH - g.PadTop
	g.PadLeft = (g.KW-1)*g.DilW - g.PadLeft
	return g, dst
}

const (
	gradBlock = 256 // pixels whose patches' gradients a task holds; more than convBlock, as each block packs the whole filter
	gradTasks = 8   // least number of tasks when small images are done several at a time
)

// gradPixels is the number of output pixels whose patches' gradients a task holds, gradImages the number of its images.
func (w *Window) gradPixels() int { return max(1, min(gradBlock, convGathered/max(1, w.patch()))) }

func (w *Window) gradImages() int {
	return max(1, min(w.gradPixels()/max(1, w.OutH*w.OutW), w.Batch/gradTasks))
}

// doConvInputGrad does whole images, c.rows at a time, because the patches of an image overlap.
var doConvInputGrad = convFunc{runConvInputGrad[float32], runConvInputGrad[float64]}

func runConvInputGrad[T Float](c *conv[T], lo, hi int) {
	s := scratches[T]().get()
	k, out, image, pixels := c.patch(), c.groupOut(), c.OutH*c.OutW, c.gradPixels()
	buf := s.take(pixels*k + c.groupIn())
	col, ones := buf[:pixels*k], buf[pixels*k:]
	Fill(ones, 1)
	for i := lo; i < hi; i++ {
		first, end := i*c.rows, min((i+1)*c.rows, c.Batch)
		clear(c.x[first*c.InH*c.InW*c.InC : end*c.InH*c.InW*c.InC])
		for from := first * image; from < end*image; from += pixels {
			to := min(from+pixels, end*image)
			for i := range c.split() {
				gemmSerial(GemmArgs[T]{M: to - from, N: k, K: out, Alpha: 1, A: c.y[from*c.OutC+i*out:], LDA: c.OutC,
					B: c.w[i*out:], LDB: c.OutC, TransB: true, C: col, LDC: k})
				col2im(&c.Window, past(c.x, i*c.groupIn()), col, ones, from, to)
			}
		}
	}
	scratches[T]().put(s)
}

// Conv2DFilterGrad sets dw to the gradient of Conv2D's w, given x and dy.
func Conv2DFilterGrad[T Float](g Window, dw, x, dy []T) {
	_, _, _ = x[:g.inSize()], dw[:g.weights()], dy[:g.outSize()]
	switch {
	case g.Groups > 1 && filterGradInGroups(g, dw, x, dy):
		return
	case g.pointwise() && g.weights() >= filterProduct:
		filterGradProduct(g, dw, x, dy, 0)
		return
	case g.sampled():
		filterGradSampled(g, dw, x, dy)
		return
	}
	c := newConv(g, nil, x, dw, dy)
	f, blocks := &doConvFilterGrad, ceilDiv(g.pixels(), g.blockPixels())
	switch {
	case c.winograd(1) && c.InC*c.OutC > winogradSums:
		c.filterGradByPoints(winogradBlock)
		return
	case c.winograd(1):
		f, blocks = c.gradByTiles()
	case c.direct():
		f, blocks = &doFilterGradDirect, g.Batch*g.directBlocks()
	}
	c.sum(f, blocks)
}

// sum sums a gradient over blocks, in groups that run in parallel, and recycles the convolution.
func (c *conv[T]) sum(f *convFunc, blocks int) {
	c.run = pickConv[T](f)
	c.parts = filterGroups(blocks, c.weights())
	c.partial = c.part.take(c.parts * c.weights())
	Parallel(c.parts, 1, c)
	c.addPartials()
	c.recycle()
}

const (
	filterGroupsMax  = 16
	filterGroupElems = 1 << 24
)

// filterGroups returns the number of partial sums, of the given size each, of a gradient over blocks. It depends only on
// shapes.
func filterGroups(blocks, size int) int {
	return max(1, min(blocks, filterGroupsMax, filterGroupElems/max(1, size)))
}

var doConvFilterGrad = convFunc{runConvFilterGrad[float32], runConvFilterGrad[float64]}

func runConvFilterGrad[T Float](c *conv[T], lo, hi int) {
	s := scratches[T]().get()
	k, out, pixels := c.patch(), c.groupOut(), c.blockPixels()
	col, blocks := s.take(pixels*k), ceilDiv(c.pixels(), pixels)
	for i := lo; i < hi; i++ {
		dw := c.partial[i*c.weights() : (i+1)*c.weights()]
		b0, b1 := i*blocks/c.parts, (i+1)*blocks/c.parts
		if b0 == b1 {
			Fill(dw, 0)
		}
		for b := b0; b < b1; b++ {
			from, to := b*pixels, min((b+1)*pixels, c.pixels())
			var beta T = 1
			if b == b0 {
				beta = 0
			}
			for j := range c.split() {
				im2col(&c.Window, col, k, c.x, from, to, j)
				gemmSerial(GemmArgs[T]{M: k, N: out, K: to - from, Alpha: 1, A: col, LDA: k, TransA: true,
					B: c.y[from*c.OutC+j*out:], LDB: c.OutC, Beta: beta, C: dw[j*out:], LDC: c.OutC})
			}
		}
	}
	scratches[T]().put(s)
}

// addPartials adds the parts' sums in order into w.
func (c *conv[T]) addPartials() {
	c.run = pickConv[T](&doAddPartials)
	Parallel(c.weights(), elementGrain, c)
}

var doAddPartials = convFunc{runAddPartials[float32], runAddPartials[float64]}

func runAddPartials[T Float](c *conv[T], lo, hi int) {
	size := c.weights()
	dst := c.w[lo:hi]
	copy(dst, c.partial[lo:hi])
	for i := 1; i < c.parts; i++ {
		binaryRange(Add, dst, dst, c.partial[i*size+lo:i*size+hi])
	}
}
