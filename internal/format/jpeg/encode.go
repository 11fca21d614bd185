package jpeg

import (
	"fmt"
	"math/bits"
)

// Encoding says how to encode pixels.
type Encoding struct {
	Quality       int // 1 to 100
	Progressive   bool
	Downsample    bool // subsample colours by 2 in each direction
	Unit          byte // of the density: 1 inch, 2 cm
	XDensity      uint16
	YDensity      uint16
	XMP           []byte // metadata; empty: none
	Width, Height int
	Channels      int // 1: gray; 3: red, green and blue
	// Interrupted is called for each line; an error ends encoding. May be nil.
	Interrupted func() error
}

// encoder writes one image.
type encoder struct {
	Encoding
	out   []byte
	acc   uint64
	n     int
	codes [2][2]codes
	quant [2][64]uint16
	parts []part
}

// part is a component: its sampling, and all its coefficients in the order of its blocks.
type part struct {
	side       int // blocks per unit, across and down
	wide, high int // blocks of the plane
	perLine    int // blocks in memory
	blocks     [][64]int16
	class      int
	last       int16
}

// codes has the code of each symbol and its length in bits.
type codes [256]struct {
	code uint16
	n    uint8
}

// Encode encodes pixels of height x width x channels.
func Encode(pixels []byte, e Encoding) ([]byte, error) {
	if e.Width < 1 || e.Height < 1 || e.Width > 65500 || e.Height > 65500 || e.Channels != 1 && e.Channels != 3 || len(pixels) != e.Width*e.Height*e.Channels {
		return nil, fmt.Errorf("encoding %d bytes as %d x %d pixels of %d channels: expected up to 65500 pixels a side, and 1 or 3 channels", len(pixels), e.Width, e.Height, e.Channels)
	}
	if len(e.XMP) > 65000 {
		return nil, fmt.Errorf("metadata of %d bytes: expected up to 65000", len(e.XMP))
	}
	w := &encoder{Encoding: e}
	for i := range 2 {
		w.quant[i] = quantTable(i, e.Quality)
		for k, c := range standardCodes[i] {
			w.codes[i][k] = newCodes(c.counts, c.symbols)
		}
	}
	if err := w.transform(pixels); err != nil {
		return nil, err
	}
	w.header()
	w.scans()
	w.marker(markerEOI)
	return w.out, nil
}

func newCodes(counts, symbols string) (c codes) {
	code, at := uint16(0), 0
	for n := 1; n <= 16; n++ {
		for range counts[n-1] {
			c[symbols[at]].code, c[symbols[at]].n = code, uint8(n)
			code++
			at++
		}
		code <<= 1
	}
	return c
}

func (w *encoder) marker(m byte) { w.out = append(w.out, 0xFF, m) }

// segment writes a marker with its segment.
func (w *encoder) segment(m byte, parts ...string) {
	n := 2
	for _, p := range parts {
		n += len(p)
	}
	w.marker(m)
	w.out = append(w.out, byte(n>>8), byte(n))
	for _, p := range parts {
		w.out = append(w.out, p...)
	}
}

func (w *encoder) header() {
	w.marker(markerSOI)
	w.segment(markerAPP0, "JFIF\x00\x01\x01", string([]byte{w.Unit, byte(w.XDensity >> 8), byte(w.XDensity), byte(w.YDensity >> 8), byte(w.YDensity), 0, 0}))
	if len(w.XMP) > 0 {
		w.segment(markerAPP0+1, "http://ns.adobe.com/xap/1.0/\x00", string(w.XMP))
	}
	kinds := min(len(w.parts), 2)
	for i := range kinds {
		table := make([]byte, 64)
		for k := range table {
			table[k] = byte(w.quant[i][natural[k]])
		}
		w.segment(markerDQT, string([]byte{byte(i)}), string(table))
	}
	frame := []byte{8, byte(w.Height >> 8), byte(w.Height), byte(w.Width >> 8), byte(w.Width), byte(len(w.parts))}
	for i, p := range w.parts {
		frame = append(frame, byte(i+1), byte(p.side<<4|p.side), byte(p.class))
	}
	process := byte(markerSOF0)
	if w.Progressive {
		process = markerSOF2
	}
	w.segment(process, string(frame))
	for i := range kinds {
		for k, c := range standardCodes[i] {
			w.segment(markerDHT, string([]byte{byte(k<<4 | i)}), c.counts, c.symbols)
		}
	}
}

// scans writes the coefficients: all in one scan or, if progressive, the first coefficients of all components and then bands of each.
func (w *encoder) scans() {
	if !w.Progressive {
		w.scan(w.parts, 0, 0, 63)
		return
	}
	w.scan(w.parts, 0, 0, 0)
	for _, band := range [][2]int{{1, 5}, {6, 63}} {
		for i := range w.parts {
			w.scan(w.parts[i:i+1], i, band[0], band[1])
		}
	}
}

// scan writes a band of the coefficients of components, numbered from first on.
func (w *encoder) scan(parts []part, first, from, to int) {
	header := []byte{byte(len(parts))}
	for i, p := range parts {
		header = append(header, byte(first+i+1), byte(p.class<<4|p.class))
	}
	w.segment(markerSOS, string(header), string([]byte{byte(from), byte(to), 0}))
	if len(parts) == 1 {
		p := &parts[0]
		for y := range p.high {
			for x := range p.wide {
				w.block(p, &p.blocks[y*p.perLine+x], from, to)
			}
		}
	} else {
		w.units(parts, from, to)
	}
	w.flush()
	for i := range parts {
		parts[i].last = 0
	}
}

func (w *encoder) units(parts []part, from, to int) {
	for y := range len(parts[0].blocks) / parts[0].perLine / parts[0].side {
		for x := range parts[0].perLine / parts[0].side {
			for i := range parts {
				p := &parts[i]
				for k := range p.side * p.side {
					w.block(p, &p.blocks[(y*p.side+k/p.side)*p.perLine+x*p.side+k%p.side], from, to)
				}
			}
		}
	}
}

// block writes a band of a block.
func (w *encoder) block(p *part, b *[64]int16, from, to int) {
	codes := &w.codes[p.class]
	if from == 0 {
		w.number(&codes[0], 0, b[0]-p.last)
		p.last = b[0]
		from++
	}
	run := 0
	for k := from; k <= to; k++ {
		v := b[natural[k]]
		if v == 0 {
			run++
			continue
		}
		for ; run > 15; run -= 16 {
			w.put(uint64(codes[1][0xF0].code), int(codes[1][0xF0].n))
		}
		w.number(&codes[1], run, v)
		run = 0
	}
	if run > 0 {
		w.put(uint64(codes[1][0].code), int(codes[1][0].n))
	}
}

// number writes a coefficient after a run of zeros.
func (w *encoder) number(c *codes, run int, v int16) {
	size := bits.Len16(uint16(max(v, -v)))
	symbol := c[run<<4|size]
	w.put(uint64(symbol.code), int(symbol.n))
	if v < 0 {
		v--
	}
	w.put(uint64(v)&(1<<size-1), size)
}

func (w *encoder) put(v uint64, n int) {
	w.acc, w.n = w.acc<<n|v, w.n+n
	for ; w.n >= 8; w.n -= 8 {
		b := byte(w.acc >> (w.n - 8))
		w.out = append(w.out, b)
		if b == 0xFF {
			w.out = append(w.out, 0)
		}
	}
}

// flush fills the last byte of a scan with ones.
func (w *encoder) flush() {
	w.put(0x7F, 7)
	w.acc, w.n = 0, 0
}
