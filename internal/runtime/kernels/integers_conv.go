package kernels

// byteGathered is the most bytes of patches that are gathered at once, unless a single patch has more.
const byteGathered = 512 << 10

// ConvolveBytes computes the convolution of images x with the filter p.B, [KH*KW*InC, OutC]. p describes x, the filter and the
// results; its M, A and LDA are not used. Images are padded with the lowest 8 bits of ZeroA. Groups are not supported.
func ConvolveBytes(g Window, x []byte, p ByteProduct) {
	_ = x[:g.inSize()]
	p.M = g.pixels()
	if p.M == 0 || g.OutC == 0 {
		return
	}
	if k, n := p.B.Size(); k != g.patch() || n != g.OutC {
		panic("kernels: a filter of another convolution")
	}
	if p.check(p.M, g.OutC); g.pointwise() {
		p.A, p.LDA = x, g.InC
		MultiplyBytes(p)
		return
	}
	c := byteConvs.get()
	c.Window, c.x, c.pad = g, x, byte(p.ZeroA)
	c.ld = p.B.groups() * byteGroup
	pixels := min(p.M, max(1, byteGathered/c.ld))
	c.patches = resized(c.patches, pixels*c.ld)
	p.A, p.LDA = c.patches, c.ld
	for c.first = 0; c.first < g.pixels(); c.first += pixels {
		p.M = min(pixels, g.pixels()-c.first)
		Parallel(p.M, max(1, copyCall/c.ld), c)
		part := p
		part.From(c.first * g.OutC)
		MultiplyBytes(part)
	}
	c.x = nil
	byteConvs.put(c)
}

// From skips the first at results.
func (r *ByteResult) From(at int) {
	switch r.kind() {
	case byteResult:
		r.Bytes = r.Bytes[at:]
	case floatResult:
		r.Floats = r.Floats[at:]
	default:
		r.Ints = r.Ints[at:]
	}
}

// byteConv gathers the patches of a convolution.
type byteConv struct {
	Window
	x       []byte
	pad     byte // padding of images
	first   int  // output pixel of the first patch
	ld      int  // bytes between patches
	patches []byte
}

var byteConvs freelist[byteConv]

// Run implements Task: it gathers patches.
func (c *byteConv) Run(lo, hi int) {
	for i := lo; i < hi; i++ {
		n, oh, ow := c.position(c.first + i)
		image, patch := c.x[n*c.InH*c.InW*c.InC:], c.patches[i*c.ld:]
		for kh := range c.KH {
			line := patch[kh*c.KW*c.InC:][:c.KW*c.InC]
			if h := oh*c.StrideH - c.PadTop + kh*c.DilH; h < 0 || h >= c.InH {
				fillBytes(line, c.pad)
			} else {
				c.gather(line, image[h*c.InW*c.InC:][:c.InW*c.InC], ow*c.StrideW-c.PadLeft)
			}
		}
	}
}

// gather copies KW pixels of an image line, from column w on.
func (c *byteConv) gather(dst, line []byte, w int) {
	if c.DilW == 1 && w >= 0 && w+c.KW <= c.InW {
		copy(dst, line[w*c.InC:])
		return
	}
	for ; len(dst) > 0; dst, w = dst[c.InC:], w+c.DilW {
		if w < 0 || w >= c.InW {
			fillBytes(dst[:c.InC], c.pad)
		} else {
			copy(dst[:c.InC], line[w*c.InC:])
		}
	}
}

func fillBytes(x []byte, v byte) {
	for i := range x {
		x[i] = v
	}
}
