package raster

import (
	"compress/lzw"
	"encoding/binary"
	"fmt"
	"io"
)

// expansion bounds the bytes that one byte of LZW or DEFLATE codes can become.
const expansion = 3000

// frame is an image of an animation.
type frame struct {
	left, top, width, height int
	colours                  []byte // 3 bytes each
	transparent              int    // an index, or -1
	interlaced               bool
	bits                     int // of an index
	codes                    subBlocks
}

// gif is an animation, read frame by frame.
type gif struct {
	data        []byte
	at          int
	colours     []byte // for frames without their own
	transparent int    // for the next frame
}

// animation is the number of frames, and the size of each.
type animation struct{ frames, height, width int }

// DecodeGIF decodes the frames of a GIF into the memory that allocate returns for their number and size: red, green and blue, one
// frame after another. Each frame is drawn over the previous one. If first is set, only the first frame is decoded. Interrupted is called
// for each row; an error ends decoding.
func DecodeGIF(data []byte, first bool, interrupted func() error, allocate func(frames, height, width int) ([]byte, error)) error {
	a, err := measure(data, first, interrupted)
	if err != nil {
		return err
	}
	out, err := allocate(a.frames, a.height, a.width)
	if err != nil {
		return err
	}
	g, err := openGIF(data)
	if err != nil {
		return err
	}
	var codes lzw.Reader
	size := 3 * a.width * a.height
	for i := range a.frames {
		f, err := g.next()
		if err != nil {
			return err
		}
		dst := out[i*size : (i+1)*size]
		if i > 0 {
			copy(dst, out[(i-1)*size:])
		}
		codes.Reset(&f.codes, lzw.LSB, f.bits)
		if err := f.draw(dst, a, &codes, interrupted); err != nil {
			return err
		}
	}
	return nil
}

// measure reads all frames, and refuses those that their bytes cannot hold. It keeps none, since a few bytes may be a frame. Damage after
// the first frame ends the animation.
func measure(data []byte, first bool, interrupted func() error) (a animation, err error) {
	g, err := openGIF(data)
	if err != nil {
		return a, err
	}
	for {
		f, err := g.next()
		if err != nil && a.frames == 0 {
			return a, err
		}
		if f == nil || err != nil {
			break
		}
		if err := interrupted(); err != nil {
			return a, err
		}
		a.width, a.height = max(a.width, f.width), max(a.height, f.height)
		if first && a.frames == 1 {
			continue
		}
		a.frames++
		if n := len(f.codes.data); f.width*f.height > expansion*n+expansion {
			return a, fmt.Errorf("%w: %d bytes of a frame of %d x %d pixels", ErrFormat, n, f.width, f.height)
		}
	}
	if a.frames == 0 {
		return a, fmt.Errorf("%w: gif file does not contain any image", ErrFormat)
	}
	// A frame without changes takes few bytes, so the bound is on what the frames allocate.
	if n := a.frames * a.width * a.height; n > expansion*len(data) && n > 1<<28 {
		return a, fmt.Errorf("%w: %d bytes of %d frames of %d x %d pixels", ErrFormat, len(data), a.frames, a.width, a.height)
	}
	return a, nil
}

// openGIF reads everything before the first frame.
func openGIF(data []byte) (g *gif, err error) {
	g = &gif{data: data, transparent: -1}
	head := g.take(13)
	if head == nil || string(head[:3]) != "GIF" {
		return nil, errEarly
	}
	g.colours, err = g.palette(head[10])
	return g, err
}

// take returns the next n bytes, nil if there are fewer.
func (g *gif) take(n int) []byte {
	if len(g.data)-g.at < n {
		return nil
	}
	g.at += n
	return g.data[g.at-n : g.at]
}

// palette reads the colour table that flags announce, if any.
func (g *gif) palette(flags byte) ([]byte, error) {
	if flags&0x80 == 0 {
		return nil, nil
	}
	c := g.take(3 << (flags&7 + 1))
	if c == nil {
		return nil, errEarly
	}
	return c, nil
}

var errEarly = fmt.Errorf("%w: it ends early", ErrFormat)

// subBlocks is data in blocks of up to 255 bytes, each after its length; an empty block ends it.
type subBlocks struct {
	data []byte
	left int // in the current block
}

// ReadByte returns the next byte.
func (b *subBlocks) ReadByte() (byte, error) {
	if b.left == 0 {
		if b.data[0] == 0 {
			return 0, io.EOF
		}
		b.left, b.data = int(b.data[0]), b.data[1:]
	}
	v := b.data[0]
	b.left, b.data = b.left-1, b.data[1:]
	return v, nil
}

// Read reads bytes.
func (b *subBlocks) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		if p[n], err = b.ReadByte(); err == nil {
			n++
		}
	}
	return n, err
}

// blocks reads blocks up to the empty one.
func (g *gif) blocks() (b subBlocks, err error) {
	from := g.at
	for {
		n := g.take(1)
		if n == nil || g.take(int(n[0])) == nil {
			return b, errEarly
		}
		if n[0] == 0 {
			return subBlocks{data: g.data[from:g.at]}, nil
		}
	}
}

// next reads up to the next frame; it returns nil if there is none.
func (g *gif) next() (*frame, error) {
	for {
		kind := g.take(1)
		switch {
		case kind == nil:
			return nil, errEarly
		case kind[0] == ';':
			return nil, nil
		case kind[0] == '!':
			if err := g.extension(); err != nil {
				return nil, err
			}
		case kind[0] == ',':
			return g.frame()
		default:
			return nil, fmt.Errorf("%w: a block of kind %#x", ErrFormat, kind[0])
		}
	}
}

// extension reads an extension, which may set a transparent colour.
func (g *gif) extension() error {
	label := g.take(1)
	b, err := g.blocks()
	if err != nil {
		return err
	}
	if label[0] == 0xF9 && b.data[0] == 4 {
		g.transparent = -1
		if b.data[1]&1 != 0 {
			g.transparent = int(b.data[4])
		}
	}
	return nil
}

// frame reads a frame.
func (g *gif) frame() (*frame, error) {
	d := g.take(9)
	if d == nil {
		return nil, errEarly
	}
	number := func(i int) int { return int(binary.LittleEndian.Uint16(d[i:])) }
	f := &frame{left: number(0), top: number(2), width: number(4), height: number(6), transparent: g.transparent, interlaced: d[8]&0x40 != 0, colours: g.colours}
	g.transparent = -1
	local, err := g.palette(d[8])
	if err != nil {
		return nil, err
	}
	if local != nil {
		f.colours = local
	}
	bits := g.take(1)
	if bits == nil || bits[0] > 8 || bits[0] < 1 {
		return nil, fmt.Errorf("%w: the size of codes", ErrFormat)
	}
	f.bits = int(bits[0])
	f.codes, err = g.blocks()
	return f, err
}

// draw draws the frame over dst.
func (f *frame) draw(dst []byte, a animation, codes io.Reader, interrupted func() error) error {
	if f.colours == nil {
		return fmt.Errorf("%w: missing color map", ErrFormat)
	}
	line := make([]byte, f.width)
	for i := range f.height {
		if err := interrupted(); err != nil {
			return err
		}
		if _, err := io.ReadFull(codes, line); err != nil {
			return fmt.Errorf("%w: %v", ErrFormat, err)
		}
		y := f.top + f.row(i)
		if y >= a.height {
			continue
		}
		for x, v := range line[:max(min(f.width, a.width-f.left), 0)] {
			if int(v) == f.transparent {
				continue
			}
			if 3*int(v) >= len(f.colours) {
				return fmt.Errorf("%w: found color index %d outside of color map range %d", ErrFormat, v, len(f.colours)/3)
			}
			copy(dst[3*(y*a.width+f.left+x):], f.colours[3*int(v):3*int(v)+3])
		}
	}
	return nil
}

// row returns the number of the i-th stored row.
func (f *frame) row(i int) int {
	if !f.interlaced {
		return i
	}
	for _, p := range [][2]int{{0, 8}, {4, 8}, {2, 4}, {1, 2}} {
		n := max((f.height-p[0]+p[1]-1)/p[1], 0)
		if i < n {
			return p[0] + i*p[1]
		}
		i -= n
	}
	return i
}
