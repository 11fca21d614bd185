package raster

import "encoding/binary"

// conversion makes pixels from stored rows.
type conversion struct {
	*png
	channels int
	deep     bool
	scale    int  // factor for gray of fewer bits than 8
	expand   bool // transparent colours become alpha
	filler   int  // the alpha of pixels that have none
}

// conversion returns the conversion to that many channels, with 16 bits if deep is set.
func (p *png) conversion(channels int, deep bool) *conversion {
	c := &conversion{png: p, channels: channels, deep: deep, scale: 1, filler: 1<<p.depth - 1}
	if channels == 0 {
		c.channels = p.samples()
		if p.kind == pngPalette {
			c.channels = 3
			if p.alpha != nil {
				c.channels = 4
			}
		}
	}
	if p.kind == pngGray && p.depth < 8 {
		c.scale = 255 / (1<<p.depth - 1)
	}
	c.expand = c.channels%2 == 0 && p.alpha != nil
	return c
}

// bytes is the size of a pixel.
func (c *conversion) bytes() int {
	if c.deep {
		return 2 * c.channels
	}
	return c.channels
}

// row converts a row of pixels, and writes them to every step-th pixel of dst.
func (c *conversion) row(dst, src []byte, width, step int) {
	if c.plain() {
		n := c.channels
		if step == 1 {
			copy(dst, src[:n*width])
			return
		}
		for x := range width {
			copy(dst[x*step*n:], src[x*n:(x+1)*n])
		}
		return
	}
	for x := range width {
		px, high := c.pixel(src, x)
		to := dst[x*step*c.bytes():][:c.bytes()]
		for i := range c.channels {
			switch {
			case !c.deep && high:
				to[i] = byte(px[i] >> 8)
			case !c.deep:
				to[i] = byte(px[i])
			case high:
				binary.LittleEndian.PutUint16(to[2*i:], uint16(px[i]))
			default:
				binary.LittleEndian.PutUint16(to[2*i:], uint16(px[i]|px[i]<<8))
			}
		}
	}
}

// plain reports whether pixels are stored as requested.
func (c *conversion) plain() bool {
	return !c.deep && c.depth == 8 && c.kind != pngPalette && !c.expand && c.samples() == c.channels
}

// pixel returns the channels of a pixel; high means 16 bits.
func (c *conversion) pixel(src []byte, x int) (px [4]int, high bool) {
	var v [4]int
	n := c.samples()
	for i := range n {
		switch at := x*n + i; c.depth {
		case 8:
			v[i] = int(src[at])
		case 16:
			v[i] = int(binary.BigEndian.Uint16(src[2*at:]))
		default:
			bit := at * c.depth
			v[i] = int(src[bit/8]) >> (8 - c.depth - bit%8) & (1<<c.depth - 1)
		}
	}
	high = c.depth == 16
	a := c.filler
	if c.hasAlpha() {
		a = v[n-1]
	}
	if c.expand {
		a = c.transparency(v)
	}
	r, g, b := v[0], v[1], v[2]
	switch {
	case c.kind == pngPalette:
		r, g, b = 0, 0, 0
		if i := 3 * v[0]; i < len(c.palette) {
			r, g, b = int(c.palette[i]), int(c.palette[i+1]), int(c.palette[i+2])
		}
	case c.isGray():
		r *= c.scale
		g, b = r, r
	}
	if c.channels < 3 {
		if !c.isGray() {
			r = luminance(r, g, b, high)
		}
		return [4]int{r, a}, high
	}
	return [4]int{r, g, b, a}, high
}

// transparency returns the alpha of a pixel from the tRNS chunk.
func (c *conversion) transparency(v [4]int) int {
	most := 255
	if c.depth == 16 {
		most = 65535
	}
	if c.kind == pngPalette {
		if v[0] < len(c.alpha) {
			return int(c.alpha[v[0]])
		}
		return most
	}
	for i := range c.samples() {
		if v[i] != int(binary.BigEndian.Uint16(c.alpha[2*i:]))&(1<<c.depth-1) {
			return most
		}
	}
	return 0
}

// luminance is the gray value of a colour, with 15 fractional bits in the factors. Gray does not change.
func luminance(r, g, b int, high bool) int {
	if r == g && g == b {
		return r
	}
	v := 9797*r + 19234*g + 3737*b
	if high {
		v += 1 << 14
	}
	return v >> 15
}
