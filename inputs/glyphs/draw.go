package glyphs

import (
	"math"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
)

const (
	// Side is the height and width of an image in pixels.
	Side = 28
	// Pixels is the number of bytes of an image.
	Pixels = Side * Side
	// Classes is the number of labels.
	Classes = 10
)

// source draws the random parts of an image.
type source struct{ splitmix.Source }

// between returns a number in [lo, hi).
func (s *source) between(lo, hi float32) float32 {
	return lo + (hi-lo)*float32(s.Next()>>40)/(1<<24)
}

// Draw writes image index of the set with the given seed to dst, row by row, and
// returns its label. dst must have Pixels bytes. It is safe for concurrent use.
func Draw(dst []byte, seed int64, index int64) (label int) {
	rnd := source{splitmix.Source(uint64(seed)*0xd1342543de82ef95 + uint64(index)*0xaf251af3b0f025b5)}
	rnd.Next()
	label = int(rnd.Next() >> 32 * Classes >> 32)
	var c canvas
	t := newTransform(&rnd)
	width := rnd.between(0.75, 1.75)
	wobble := rnd.between(0.2, 0.9)
	for _, s := range digits[label] {
		last := t.apply(s[0], wobble, &rnd)
		for _, p := range s[1:] {
			next := t.apply(p, wobble, &rnd)
			c.segment(last, next, width)
			last = next
		}
	}
	if rnd.Next()&3 == 0 { // a stray line
		a := point{rnd.between(2, Side-2), rnd.between(2, Side-2)}
		b := point{a.x + rnd.between(-5, 5), a.y + rnd.between(-5, 5)}
		c.segment(a, b, rnd.between(0.5, 1))
	}
	c.develop(dst, rnd.between(150, 255), rnd.between(4, 40), &rnd)
	return label
}

// transform maps the unit square to pixels.
type transform struct{ xx, xy, yx, yy, x0, y0 float32 }

func newTransform(rnd *source) transform {
	sin, cos := math.Sincos(float64(rnd.between(-0.35, 0.35)))
	sx, sy := rnd.between(13, 22), rnd.between(16, 24)
	shear := rnd.between(-0.3, 0.3)
	t := transform{
		xx: float32(cos) * sx, xy: (shear*float32(cos) - float32(sin)) * sy,
		yx: float32(sin) * sx, yy: (shear*float32(sin) + float32(cos)) * sy,
	}
	cx, cy := float32(Side)/2+rnd.between(-2.5, 2.5), float32(Side)/2+rnd.between(-2.5, 2.5)
	t.x0 = cx - (t.xx+t.xy)/2
	t.y0 = cy - (t.yx+t.yy)/2
	return t
}

// apply maps a point and shifts it by up to wobble pixels.
func (t *transform) apply(p point, wobble float32, rnd *source) point {
	return point{
		t.xx*p.x + t.xy*p.y + t.x0 + rnd.between(-wobble, wobble),
		t.yx*p.x + t.yy*p.y + t.y0 + rnd.between(-wobble, wobble),
	}
}

// canvas holds the coverage of each pixel, 0 to 1.
type canvas [Pixels]float32

// segment draws a line with round ends; width is half its thickness in pixels.
func (c *canvas) segment(a, b point, width float32) {
	reach := width + 0.5
	x0, x1 := bounds(min(a.x, b.x)-reach, max(a.x, b.x)+reach)
	y0, y1 := bounds(min(a.y, b.y)-reach, max(a.y, b.y)+reach)
	dx, dy := b.x-a.x, b.y-a.y
	inv := 1 / max(dx*dx+dy*dy, 1e-6)
	for y := y0; y < y1; y++ {
		py := float32(y) + 0.5 - a.y
		row := c[y*Side : y*Side+Side]
		for x := x0; x < x1; x++ {
			px := float32(x) + 0.5 - a.x
			u := min(max((px*dx+py*dy)*inv, 0), 1)
			ex, ey := px-u*dx, py-u*dy
			d2 := ex*ex + ey*ey
			if d2 >= reach*reach {
				continue
			}
			ink := min(reach-float32(math.Sqrt(float64(d2))), 1)
			row[x] = max(row[x], ink)
		}
	}
}

// bounds returns the pixels between two coordinates, within the image.
func bounds(lo, hi float32) (int, int) {
	return min(max(int(lo), 0), Side), max(min(int(hi)+1, Side), 0)
}

// develop writes grey values: ink times coverage plus noise.
func (c *canvas) develop(dst []byte, ink, noise float32, rnd *source) {
	var bits uint64
	for i := range dst[:Pixels] {
		if i&7 == 0 {
			bits = rnd.Next()
		}
		v := ink*c[i] + noise*(float32(bits&255)/128-1)
		bits >>= 8
		dst[i] = byte(min(max(v, 0), 255))
	}
}
