package raster

import (
	"bytes"
	"compress/lzw"
	"encoding/binary"
	"fmt"
	"io"
)

// expansion bounds how many bytes a byte of LZW or DEFLATE codes becomes.
const expansion = 3000

// frame is an image of an animation.
type frame struct {
	left, top, width, height int
	colours                  []byte // 3 of each
	transparent              int    // an index, or -1
	interlaced               bool
	bits                     int // of an index
	codes                    [][]byte
}

// gif is an animation as its blocks describe it.
type gif struct {
	data   []byte
	at     int
	frames []frame
}

// DecodeGIF decodes the frames of a GIF into the pixels that allocate returns for their number and size, red, green and blue, one
// frame after the other. Frames are drawn over the one before. With first set, only the first is decoded.
func DecodeGIF(data []byte, first bool, allocate func(frames, height, width int) ([]byte, error)) error {
	g := &gif{data: data}
	if err := g.read(); err != nil && len(g.frames) == 0 {
		return err
	}
	if len(g.frames) == 0 {
		return fmt.Errorf("%w: gif file does not contain any image", ErrFormat)
	}
	width, height, codes := 0, 0, 0
	for _, f := range g.frames {
		width, height = max(width, f.width), max(height, f.height)
	}
	frames := g.frames
	if first {
		frames = frames[:1]
	}
	for _, f := range frames {
		n := 0
		for _, c := range f.codes {
			n += len(c)
		}
		if codes += n; f.width*f.height > expansion*n+expansion {
			return fmt.Errorf("%w: %d bytes of a frame of %d x %d pixels", ErrFormat, n, f.width, f.height)
		}
	}
	// A frame that does not change is a few bytes: the bound is of what each allocates.
	if len(frames)*width*height > expansion*len(data) && len(frames)*width*height > 1<<28 {
		return fmt.Errorf("%w: %d bytes of %d frames of %d x %d pixels", ErrFormat, len(data), len(frames), width, height)
	}
	out, err := allocate(len(frames), height, width)
	if err != nil {
		return err
	}
	size := 3 * width * height
	for i := range frames {
		var before []byte
		if i > 0 {
			before = out[(i-1)*size : i*size]
		}
		if err := frames[i].draw(out[i*size:(i+1)*size], before, width, height); err != nil {
			return err
		}
	}
	return nil
}

// take returns the next n bytes, nil where there are fewer.
func (g *gif) take(n int) []byte {
	if len(g.data)-g.at < n {
		return nil
	}
	g.at += n
	return g.data[g.at-n : g.at]
}

// palette takes a table of colours that flags announce.
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

// blocks takes blocks up to the empty one.
func (g *gif) blocks() (all [][]byte, err error) {
	for {
		n := g.take(1)
		if n == nil {
			return nil, errEarly
		}
		if n[0] == 0 {
			return all, nil
		}
		b := g.take(int(n[0]))
		if b == nil {
			return nil, errEarly
		}
		all = append(all, b)
	}
}

// read reads all frames.
func (g *gif) read() error {
	head := g.take(13)
	if head == nil || string(head[:3]) != "GIF" {
		return errEarly
	}
	global, err := g.palette(head[10])
	if err != nil {
		return err
	}
	transparent := -1
	for {
		kind := g.take(1)
		switch {
		case kind == nil:
			return errEarly
		case kind[0] == ';':
			return nil
		case kind[0] == '!':
			label := g.take(1)
			all, err := g.blocks()
			if err != nil {
				return err
			}
			if label[0] == 0xF9 && len(all) > 0 && len(all[0]) == 4 {
				transparent = -1
				if all[0][0]&1 != 0 {
					transparent = int(all[0][3])
				}
			}
		case kind[0] == ',':
			if err := g.frame(global, transparent); err != nil {
				return err
			}
			transparent = -1
		default:
			return fmt.Errorf("%w: a block of kind %#x", ErrFormat, kind[0])
		}
	}
}

// frame reads a frame.
func (g *gif) frame(global []byte, transparent int) error {
	d := g.take(9)
	if d == nil {
		return errEarly
	}
	number := func(i int) int { return int(binary.LittleEndian.Uint16(d[i:])) }
	f := frame{left: number(0), top: number(2), width: number(4), height: number(6), transparent: transparent, interlaced: d[8]&0x40 != 0, colours: global}
	local, err := g.palette(d[8])
	if err != nil {
		return err
	}
	if local != nil {
		f.colours = local
	}
	bits := g.take(1)
	if bits == nil || bits[0] > 8 || bits[0] < 1 {
		return fmt.Errorf("%w: the size of codes", ErrFormat)
	}
	f.bits = int(bits[0])
	if f.codes, err = g.blocks(); err != nil {
		return err
	}
	g.frames = append(g.frames, f)
	return nil
}

// draw draws the frame over the one before.
func (f *frame) draw(dst, before []byte, width, height int) error {
	if f.colours == nil {
		return fmt.Errorf("%w: missing color map", ErrFormat)
	}
	var readers []io.Reader
	for _, c := range f.codes {
		readers = append(readers, bytes.NewReader(c))
	}
	codes := lzw.NewReader(io.MultiReader(readers...), lzw.LSB, f.bits)
	defer codes.Close()
	copy(dst, before) // without one: zeros
	line := make([]byte, f.width)
	for i := range f.height {
		if _, err := io.ReadFull(codes, line); err != nil {
			return fmt.Errorf("%w: %v", ErrFormat, err)
		}
		y := f.top + f.row(i)
		if y >= height {
			continue
		}
		for x, v := range line[:max(min(f.width, width-f.left), 0)] {
			if int(v) == f.transparent {
				continue
			}
			if 3*int(v) >= len(f.colours) {
				return fmt.Errorf("%w: found color index %d outside of color map range %d", ErrFormat, v, len(f.colours)/3)
			}
			copy(dst[3*(y*width+f.left+x):], f.colours[3*int(v):3*int(v)+3])
		}
	}
	return nil
}

// row returns which row comes i-th.
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
