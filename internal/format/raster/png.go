package raster

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

const pngMagic = "\x89PNG\r\n\x1a\n"

// Colour types, as in the header.
const (
	pngGray    = 0
	pngRGB     = 2
	pngPalette = 3
	pngGrayA   = 4
	pngRGBA    = 6
)

// png is an image as its chunks describe it.
type png struct {
	width, height int
	depth, kind   int
	interlaced    bool
	palette       []byte // 3 bytes per colour
	alpha         []byte // tRNS
	parts         []io.Reader
	packed        int // bytes of the parts
	ended         bool
}

// samples is the number of stored values per pixel.
func (p *png) samples() int {
	return map[int]int{pngGray: 1, pngRGB: 3, pngPalette: 1, pngGrayA: 2, pngRGBA: 4}[p.kind]
}

func (p *png) hasAlpha() bool { return p.kind&4 != 0 }
func (p *png) isGray() bool   { return p.kind&2 == 0 }

// DecodePNG decodes a PNG image into 1, 3 or 4 channels (0: as many as it has) of 8 bits, or of 16 bits if deep is set.
// Interrupted is called for each row; an error ends decoding.
func DecodePNG(data []byte, channels int, deep bool, interrupted func() error, allocate Allocate) error {
	p := &png{}
	if err := p.read(data); err != nil {
		return err
	}
	c := p.conversion(channels, deep)
	size := 1
	if deep {
		size = 2
	}
	if p.width >= 1<<27 || p.height >= 1<<27 || p.width*p.height >= 1<<29 {
		return fmt.Errorf("%w: PNG size too large for int: %d by %d", ErrFormat, p.width, p.height)
	}
	if p.height*p.stride(p.width) > expansion*p.packed+expansion {
		return fmt.Errorf("%w: %d bytes of %d x %d pixels", ErrFormat, p.packed, p.width, p.height)
	}
	if !p.ended {
		return errEarly
	}
	out, err := allocate(p.height, p.width, c.channels, size)
	if err != nil {
		return err
	}
	return p.decode(c, out, interrupted)
}

// read reads the chunks.
func (p *png) read(data []byte) error {
	if len(data) < 8 || string(data[:8]) != pngMagic {
		return fmt.Errorf("%w: no PNG", ErrFormat)
	}
	for first, data := true, data[8:]; !p.ended; first = false {
		if len(data) < 12 {
			return p.early()
		}
		n := binary.BigEndian.Uint32(data)
		if n > 1<<31-1 {
			return fmt.Errorf("%w: a chunk of %d bytes", ErrFormat, n)
		}
		if uint64(len(data)) < uint64(n)+12 {
			return p.early()
		}
		kind, body := string(data[4:8]), data[8:8+n]
		if critical := kind[0]&0x20 == 0; crc32.ChecksumIEEE(data[4:8+n]) != binary.BigEndian.Uint32(data[8+n:]) {
			if critical {
				return fmt.Errorf("%w: the checksum of chunk %s", ErrFormat, kind)
			}
			body = nil
		}
		if first != (kind == "IHDR") {
			return fmt.Errorf("%w: it begins with chunk %q", ErrFormat, kind)
		}
		if err := p.chunk(kind, body); err != nil {
			return err
		}
		data = data[12+n:]
	}
	return nil
}

// early accepts an image without an end if pixels were found: its header limits what is decoded.
func (p *png) early() error {
	if len(p.parts) > 0 {
		return nil
	}
	return errEarly
}

func (p *png) chunk(kind string, body []byte) error {
	switch kind {
	case "IHDR":
		return p.header(body)
	case "PLTE":
		if len(body)%3 != 0 || len(body) > 768 || len(body) == 0 {
			return fmt.Errorf("%w: a palette of %d bytes", ErrFormat, len(body))
		}
		p.palette = body
	case "tRNS":
		p.transparent(body)
	case "IDAT":
		if p.kind == pngPalette && p.palette == nil {
			return fmt.Errorf("%w: no palette", ErrFormat)
		}
		p.parts = append(p.parts, bytes.NewReader(body))
		p.packed += len(body)
	case "IEND":
		p.ended = true
		if len(p.parts) == 0 {
			return fmt.Errorf("%w: no pixels", ErrFormat)
		}
	default:
		if kind[0]&0x20 == 0 {
			return fmt.Errorf("%w: unknown critical chunk %q", ErrFormat, kind)
		}
	}
	return nil
}

// transparent keeps the tRNS chunk, if the colour type may have one.
func (p *png) transparent(body []byte) {
	want := map[int]int{pngGray: 2, pngRGB: 6}[p.kind]
	if len(p.parts) > 0 || p.kind == pngPalette && (p.palette == nil || len(body) > len(p.palette)/3 || len(body) == 0) || p.kind != pngPalette && (want == 0 || len(body) != want) {
		return
	}
	p.alpha = body
}

func (p *png) header(body []byte) error {
	if len(body) != 13 {
		return fmt.Errorf("%w: a header of %d bytes", ErrFormat, len(body))
	}
	w, h := binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
	p.depth, p.kind, p.interlaced = int(body[8]), int(body[9]), body[12] == 1
	depths := map[int]string{pngGray: "\x01\x02\x04\x08\x10", pngRGB: "\x08\x10", pngPalette: "\x01\x02\x04\x08", pngGrayA: "\x08\x10", pngRGBA: "\x08\x10"}[p.kind]
	// The reference library accepts at most a million pixels per side.
	if w == 0 || h == 0 || w > 1e6 || h > 1e6 || bytes.IndexByte([]byte(depths), body[8]) < 0 || body[10] != 0 || body[11] != 0 || body[12] > 1 {
		return fmt.Errorf("%w: a PNG of %d x %d pixels, %d bits, colours of kind %d, methods %v", ErrFormat, w, h, p.depth, p.kind, body[10:])
	}
	p.width, p.height = int(w), int(h)
	return nil
}

// stride is the stored size of a row of width pixels, without its filter byte.
func (p *png) stride(width int) int { return (width*p.samples()*p.depth + 7) / 8 }

// decode decompresses the rows, and converts them.
func (p *png) decode(c *conversion, out []byte, interrupted func() error) error {
	z, err := zlib.NewReader(io.MultiReader(p.parts...))
	if err != nil {
		return fmt.Errorf("%w: %v", ErrFormat, err)
	}
	defer z.Close()
	passes := [][4]int{{0, 0, 1, 1}}
	if p.interlaced {
		passes = [][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
	}
	each := max(p.samples()*p.depth/8, 1) // distance of the bytes that a filter looks back to
	for _, pass := range passes {
		width, height := (p.width-pass[0]+pass[2]-1)/pass[2], (p.height-pass[1]+pass[3]-1)/pass[3]
		if width <= 0 || height <= 0 {
			continue
		}
		row, last := make([]byte, 1+p.stride(width)), make([]byte, 1+p.stride(width))
		for y := range height {
			if err := interrupted(); err != nil {
				return err
			}
			if _, err := io.ReadFull(z, row); err != nil {
				return fmt.Errorf("%w: %v", ErrFormat, err)
			}
			if err := unfilter(row, last[1:], each); err != nil {
				return err
			}
			c.row(out[((pass[1]+y*pass[3])*p.width+pass[0])*c.bytes():], row[1:], width, pass[2])
			row, last = last, row
		}
	}
	return nil
}

// unfilter undoes the filter of a row, whose first byte is the filter's number.
func unfilter(row, up []byte, each int) error {
	kind, x := row[0], row[1:]
	up = up[:len(x)]
	switch kind {
	case 0:
	case 1:
		for i := each; i < len(x); i++ {
			x[i] += x[i-each]
		}
	case 2:
		for i, v := range up {
			x[i] += v
		}
	case 3:
		for i := range min(each, len(x)) {
			x[i] += up[i] / 2
		}
		for i := each; i < len(x); i++ {
			x[i] += byte((int(x[i-each]) + int(up[i])) / 2)
		}
	case 4:
		for i := range min(each, len(x)) {
			x[i] += up[i]
		}
		for i := each; i < len(x); i++ {
			x[i] += paeth(x[i-each], up[i], up[i-each])
		}
	default:
		return fmt.Errorf("%w: filter %d", ErrFormat, kind)
	}
	return nil
}

func paeth(a, b, c byte) byte {
	pa, pb := int(b)-int(c), int(a)-int(c)
	pc := pa + pb
	pa, pb, pc = max(pa, -pa), max(pb, -pb), max(pc, -pc)
	switch {
	case pa <= pb && pa <= pc:
		return a
	case pb <= pc:
		return b
	}
	return c
}
