package jpeg

import "github.com/goestimator/goestimator/internal/runtime/kernels"

// sampler makes image rows from a component's plane.
type sampler struct {
	c            *component
	across, down int // image pixels per pixel of the plane
	fancy        bool
	from, width  int // columns of the plane
	row          []byte
}

// newSampler plans the rows of a component, from width columns of its plane that begin at from.
func newSampler(d *decoder, c *component, from, width int) sampler {
	s := sampler{c: c, across: d.maxH * d.least / (int(c.h) * c.size), down: d.maxV * d.least / (int(c.v) * c.size), from: from, width: width}
	switch fancy := !d.Plain && d.least > 1; {
	case s.across == 2 && s.down <= 2:
		s.fancy = fancy && c.width > 2 && width > 1
	case s.across == 1 && s.down == 2:
		s.fancy = fancy
	}
	if s.across > 1 || s.down > 1 {
		s.row = make([]byte, s.across*width)
	}
	return s
}

// at returns a row of the plane; rows outside it are the nearest rows inside.
func (s *sampler) at(y int) []byte {
	y = min(max(y, 0), s.c.below-1)
	return s.c.plane[y*s.c.stride+s.from:][:s.width]
}

// pixels returns row y of the image.
func (s *sampler) pixels(y int) []byte {
	near := s.at(y / s.down)
	switch {
	case s.across == 1 && s.down == 1:
		return near
	case s.fancy && s.down == 1:
		kernels.WidenPixels(s.row, near)
		return s.row
	case !s.fancy:
		if s.across == 1 {
			return near
		}
		for i, v := range near {
			for j := range s.across {
				s.row[i*s.across+j] = v
			}
		}
		return s.row
	}
	far := s.at(y/2 - 1 + y%2*2)
	if s.across == 2 {
		kernels.WidenPixelsBoth(s.row, near, far)
		return s.row
	}
	for i, v := range near {
		s.row[i] = byte((3*int(v) + int(far[i]) + 1 + y%2) >> 2)
	}
	return s.row
}
