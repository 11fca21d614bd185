package jpeg

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// Options says how to decode an image. The zero value keeps its colours and size, and uses interpolated colours and the fast transform.
type Options struct {
	Channels int     // 1: gray, 3: red, green and blue; 0: as many as the image has
	Ratio    int     // by which the image is scaled down: 1, 2, 4 or 8; 0 is 1
	Plain    bool    // repeat subsampled colours instead of interpolating
	Accurate bool    // use the accurate inverse transform
	Recover  bool    // make up missing data at the end
	Crop     *Window // nil: the whole image
	// Reserve is called before n bytes are allocated besides the pixels; may be nil.
	Reserve func(n int) error
	// Interrupted is called for each line; an error ends decoding. May be nil.
	Interrupted func() error
}

// Window is a part of an image.
type Window struct{ X, Y, Width, Height int }

// maxBytes is TensorFlow's limit on the number of pixels times components.
const maxBytes = 1 << 29

// maxScans bounds the passes over a progressive image: each may have only a few bytes.
const maxScans = 200

// decoder decodes one image.
type decoder struct {
	*frame
	Options
	kind     colours
	channels int
	least    int // side in pixels of the blocks of the component with the most pixels
	width    int
	height   int
	window   Window
	left     int // columns to the left of the window that are decoded, too
	samplers []sampler
	out      []byte
	rows     int // rows of the window that are done
	space    *space
}

// Decode decodes an image into the slice that pixels returns, of height x width x channels bytes.
func Decode(data []byte, o Options, pixels func(height, width, channels int) ([]byte, error)) error {
	f, err := open(data, o)
	if err != nil {
		return err
	}
	d := &decoder{frame: f, Options: o, kind: f.kind()}
	if err := d.plan(); err != nil {
		return err
	}
	if err := d.plausible(); err != nil {
		return err
	}
	if d.out, err = pixels(d.window.Height, d.window.Width, d.channels); err != nil {
		return err
	}
	d.space = takeSpace()
	defer d.space.giveBack()
	return d.decode()
}

// plan computes the sizes of planes and pixels.
func (d *decoder) plan() error {
	d.channels = d.Channels
	if d.channels == 0 {
		d.channels = min(d.Components, 3)
	}
	ratio := max(d.Ratio, 1)
	switch {
	case d.channels != 1 && d.channels != 3 || ratio > 8 || ratio&(ratio-1) != 0:
		return fmt.Errorf("expected 1 or 3 channels and a ratio of 1, 2, 4 or 8, got %d and %d", d.channels, ratio)
	case d.channels == 1 && d.kind >= cmyk:
		return fmt.Errorf("%w: a gray image of four colours", ErrUnsupported)
	}
	d.least = 8 / ratio
	d.width, d.height = ceil(d.Width, ratio), ceil(d.Height, ratio)
	if d.width*d.height*d.Components >= maxBytes {
		return fmt.Errorf("%w: %d x %d pixels", ErrTooLarge, d.width, d.height)
	}
	d.window = Window{0, 0, d.width, d.height}
	if w := d.Crop; w != nil {
		if w.Width <= 0 || w.Height <= 0 || w.X < 0 || w.Y < 0 || w.X > d.width-w.Width || w.Y > d.height-w.Height {
			return fmt.Errorf("%w: a window of %d x %d pixels at (%d, %d) of %d x %d", ErrFormat, w.Width, w.Height, w.X, w.Y, d.width, d.height)
		}
		d.window = *w
	}
	for i := range d.comps {
		if err := d.planComponent(&d.comps[i]); err != nil {
			return err
		}
	}
	return nil
}

// planComponent chooses the size of a component's blocks: as large as the pixels need, so that the transform does
// the scaling of colours.
func (d *decoder) planComponent(c *component) error {
	c.size = d.least
	fits := func(n int) bool { return d.maxH*d.least%(int(c.h)*n) == 0 && d.maxV*d.least%(int(c.v)*n) == 0 }
	for c.size < 8 && fits(2*c.size) {
		c.size *= 2
	}
	if !fits(c.size) {
		return fmt.Errorf("%w: %d of %d x %d of %d blocks of a component", ErrUnsupported, c.h, d.maxH, c.v, d.maxV)
	}
	c.width, c.below = ceil(d.Width*int(c.h)*c.size, 8*d.maxH), ceil(d.Height*int(c.v)*c.size, 8*d.maxV)
	c.stride = c.perLine * c.size
	return nil
}

// plausible refuses images that claim far more pixels than their bytes can hold.
func (d *decoder) plausible() error {
	const small, bitsOfBlock = 1 << 24, 1.0 / 64
	if blocks := d.Width * d.Height / 64; d.Width*d.Height > small && float64(blocks)*bitsOfBlock > float64(8*len(d.data)) {
		return fmt.Errorf("%w: %d bytes of %d x %d pixels", ErrTooLarge, len(d.data), d.Width, d.Height)
	}
	return nil
}

// needed reports whether a component contributes to the pixels.
func (d *decoder) needed(i int) bool { return i == 0 || d.channels > 1 || d.kind != ycc }

// allocate makes room for the planes and coefficients: of one line of units if a single pass has everything.
func (d *decoder) allocate(whole bool) error {
	sizes := make([]struct{ coefs, plane int }, len(d.comps))
	coefs, planes := 0, 0
	for i := range d.comps {
		c, n := &d.comps[i], &sizes[i]
		n.coefs = 64 * c.perLine * int(c.v)
		if whole {
			n.coefs = 64 * c.perLine * c.lines
		}
		if d.needed(i) {
			n.plane = c.lines * c.size * c.stride
		}
		coefs, planes = coefs+n.coefs, planes+n.plane
	}
	if d.Reserve != nil {
		if err := d.Reserve(2*coefs + planes); err != nil {
			return err
		}
	}
	d.space.grow(coefs, planes)
	of, pl := d.space.coefs, d.space.planes
	clear(of)
	for i, n := range sizes {
		c := &d.comps[i]
		c.coefs, of = of[:n.coefs:n.coefs], of[n.coefs:]
		c.plane, pl = pl[:n.plane:n.plane], pl[n.plane:]
	}
	d.sample()
	return nil
}

// sample plans the columns of planes that the window needs, which begin at a unit.
func (d *decoder) sample() {
	unit := d.least * d.maxH
	if len(d.comps) == 1 {
		unit = d.least
	}
	from := d.window.X / unit * unit
	d.left = d.window.X - from
	width := d.window.Width + d.left
	for i := range d.comps {
		c := &d.comps[i]
		if !d.needed(i) {
			continue
		}
		h := int(c.h) * c.size
		at, columns := from*h/(d.maxH*d.least), ceil(width*h, d.maxH*d.least)
		if width == d.width {
			columns = c.width
		}
		d.samplers = append(d.samplers, newSampler(d, c, at, columns))
	}
}

// decode decodes all scans.
func (d *decoder) decode() error {
	s, err := d.newScan()
	if err != nil {
		return err
	}
	if whole := d.Progressive || len(s.comps) < len(d.comps); whole {
		return d.passes(s)
	}
	if err := d.allocate(false); err != nil {
		return err
	}
	_, high := s.size()
	for y := range high {
		for i := range d.comps {
			clear(d.comps[i].coefs)
		}
		if err := d.interrupted(); err != nil {
			return err
		}
		if err := s.line(y, s.baseline); err != nil {
			return err
		}
		d.line(y, high)
	}
	s.finish()
	return d.end()
}

// end reads up to the end marker.
func (d *decoder) end() error {
	for {
		if m, err := d.markers(); err != nil || m == markerEOI {
			return err
		}
	}
}

func (d *decoder) interrupted() error {
	if d.Interrupted == nil {
		return nil
	}
	return d.Interrupted()
}

// passes decodes all scans of an image that has several, then makes its pixels.
func (d *decoder) passes(s *scan) error {
	if err := d.allocate(true); err != nil {
		return err
	}
	for n := 1; ; n++ {
		_, high := s.size()
		decode := s.decoder()
		for y := range high {
			if err := d.interrupted(); err != nil {
				return err
			}
			if err := s.line(y, decode); err != nil {
				return err
			}
		}
		s.finish()
		m, err := d.markers()
		if err != nil {
			return err
		}
		if m == markerEOI {
			break
		}
		if n == maxScans {
			return fmt.Errorf("%w: more than %d scans", ErrUnsupported, maxScans)
		}
		if s, err = d.newScan(); err != nil {
			return err
		}
	}
	for i := range d.comps {
		if d.comps[i].quant == nil {
			return fmt.Errorf("%w: component %d has no scan", ErrFormat, d.comps[i].id)
		}
	}
	for y := range d.unitsHigh() {
		if err := d.interrupted(); err != nil {
			return err
		}
		d.line(y, d.unitsHigh())
	}
	return nil
}

// line makes the pixels of line y of high lines of units.
func (d *decoder) line(y, high int) {
	for i := range d.comps {
		if c := &d.comps[i]; d.needed(i) {
			each := int(c.v)
			if high == c.high && len(d.comps) == 1 {
				each = 1
			}
			for j := range each {
				d.transform(c, y*each+j)
			}
		}
	}
	d.emit(d.ready(y, high))
}

// ready returns how many rows of the image can be interpolated after line y of units.
func (d *decoder) ready(y, high int) int {
	if y == high-1 {
		return d.height
	}
	unit := d.least * d.maxV
	if len(d.comps) == 1 && high == d.comps[0].high {
		unit = d.least
	}
	return (y+1)*unit - d.maxV
}

// emit makes the window's rows that come before row end of the image.
func (d *decoder) emit(end int) {
	end = min(end, d.window.Y+d.window.Height)
	width := d.window.Width * d.channels
	for ; d.window.Y+d.rows < end; d.rows++ {
		var planes [4][]byte
		for i := range d.samplers {
			planes[i] = d.samplers[i].pixels(d.window.Y + d.rows)[d.left:][:d.window.Width]
		}
		d.convert(d.out[d.rows*width:][:width], planes)
	}
}

// convert makes a row of pixels.
func (d *decoder) convert(dst []byte, p [4][]byte) {
	switch {
	case d.channels == 1 && d.kind != rgb:
		copy(dst, p[0])
	case d.channels == 1:
		for i := range dst {
			dst[i] = byte((19595*int(p[0][i]) + 38470*int(p[1][i]) + 7471*int(p[2][i]) + 1<<15) >> 16)
		}
	case d.kind == gray:
		for i, v := range p[0] {
			dst[3*i], dst[3*i+1], dst[3*i+2] = v, v, v
		}
	case d.kind == ycc:
		kernels.RGBPixels(dst, p[0], p[1], p[2])
	case d.kind == rgb:
		for i := range p[0] {
			dst[3*i], dst[3*i+1], dst[3*i+2] = p[0][i], p[1][i], p[2][i]
		}
	default:
		d.inks(dst, p)
	}
}

// inks converts cyan, magenta, yellow and black, which Adobe's programs store inverted.
func (d *decoder) inks(dst []byte, p [4][]byte) {
	for i := range p[0] {
		c, m, y, k := p[0][i], p[1][i], p[2][i], int(p[3][i])
		if d.kind == ycck {
			c, m, y = kernels.RGBPixel(c, m, y)
			c, m, y = 255-c, 255-m, 255-y
		}
		if d.adobe < 0 {
			c, m, y, k = 255-c, 255-m, 255-y, 255-k
		}
		dst[3*i], dst[3*i+1], dst[3*i+2] = byte(k*int(c)/255), byte(k*int(m)/255), byte(k*int(y)/255)
	}
}
