package jpeg

import "fmt"

// natural maps the coefficients of a block to their positions, row by row. The extra entries are for runs in damaged data.
var natural = [128]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
	63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
}

// scan is one pass over an image's components.
type scan struct {
	*frame
	reader
	comps      []*component
	start, end int  // coefficients of a progressive scan
	high, low  int  // bits of these coefficients
	ends       int  // remaining blocks without coefficients
	left       int  // units until the next restart
	lost       bool // the data ended: the rest of the restart interval is empty
}

// newScan reads the header of a scan.
func (f *frame) newScan() (*scan, error) {
	body, err := f.segment()
	if err != nil {
		return nil, err
	}
	if len(body) < 1 || len(body) != 4+2*int(body[0]) || body[0] < 1 || int(body[0]) > len(f.comps) {
		return nil, fmt.Errorf("%w: the header of a scan has %d bytes", ErrFormat, len(body))
	}
	s := &scan{frame: f, left: f.restart}
	for i := range int(body[0]) {
		c := f.named(body[1+2*i])
		tables := body[2+2*i]
		if c == nil || tables&15 > 3 || tables>>4 > 3 {
			return nil, fmt.Errorf("%w: a scan of component %d", ErrFormat, body[1+2*i])
		}
		c.dc, c.ac = f.dc[tables>>4], f.ac[tables&15]
		for _, other := range s.comps {
			if other == c {
				return nil, fmt.Errorf("%w: a scan with component %d twice", ErrFormat, c.id)
			}
		}
		s.comps = append(s.comps, c)
	}
	b := body[1+2*len(s.comps):]
	s.start, s.end, s.high, s.low = int(b[0]), int(b[1]), int(b[2]>>4), int(b[2]&15)
	if err := s.check(); err != nil {
		return nil, err
	}
	s.reader = reader{data: f.data, pos: f.at}
	return s, nil
}

func (f *frame) named(id byte) *component {
	for i := range f.comps {
		if f.comps[i].id == id {
			return &f.comps[i]
		}
	}
	return nil
}

func (s *scan) check() error {
	if !s.Progressive {
		s.start, s.end, s.high, s.low = 0, 63, 0, 0
	}
	if s.end > 63 || s.start > s.end || s.low > 13 || s.high > 0 && s.high != s.low+1 || s.Progressive && s.start == 0 && s.end > 0 || s.start > 0 && len(s.comps) > 1 {
		return fmt.Errorf("%w: a scan of coefficients %d to %d, bits %d and %d", ErrFormat, s.start, s.end, s.high, s.low)
	}
	for _, c := range s.comps {
		if c.quant == nil {
			c.quant = s.quants[c.table]
		}
		if c.quant == nil || s.start == 0 && s.high == 0 && c.dc == nil || s.end > 0 && c.ac == nil {
			return fmt.Errorf("%w: component %d has no table", ErrFormat, c.id)
		}
	}
	units := 0
	for _, c := range s.comps {
		units += int(c.h) * int(c.v)
	}
	if len(s.comps) > 1 && units > 10 {
		return fmt.Errorf("%w: %d blocks in a unit", ErrFormat, units)
	}
	return nil
}

// size returns the units of the scan. With a single component, a unit is one block.
func (s *scan) size() (wide, high int) {
	if len(s.comps) == 1 {
		return s.comps[0].wide, s.comps[0].high
	}
	return s.unitsWide(), s.unitsHigh()
}

// line decodes line y of units, block by block. If components keep only one line, line 0 comes first.
func (s *scan) line(y int, decode func(c *component, block *[64]int16)) error {
	wide, _ := s.size()
	for x := range wide {
		if s.restart > 0 && s.left == 0 {
			s.resume()
		}
		s.left--
		if s.lost {
			if s.restart == 0 {
				break
			}
			continue
		}
		s.unit(x, y, decode)
		if s.over() {
			if s.pos >= len(s.reader.data) && !s.recover {
				return ErrTruncated
			}
			s.lost = true
		}
	}
	return nil
}

// unit decodes the blocks of a unit.
func (s *scan) unit(x, y int, decode func(c *component, block *[64]int16)) {
	if len(s.comps) == 1 {
		c := s.comps[0]
		decode(c, c.block(x, y))
		return
	}
	for _, c := range s.comps {
		h, v := int(c.h), int(c.v)
		for j := range v {
			for i := range h {
				decode(c, c.block(x*h+i, y*v+j))
			}
		}
	}
}

// block returns the coefficients of a block. A component may keep only one line of units.
func (c *component) block(x, y int) *[64]int16 {
	at := 64 * (y*c.perLine + x) % len(c.coefs)
	return (*[64]int16)(c.coefs[at:])
}

// resume starts again after a restart marker.
func (s *scan) resume() {
	s.at = s.pos
	if m, err := s.frame.marker(); err == nil && m >= markerRST0 && m < markerRST0+8 {
		s.pos = s.at
	} else if err == nil {
		s.pos = s.at - 2
	}
	s.reader.begin()
	s.left, s.ends, s.lost = s.restart, 0, false
	for _, c := range s.comps {
		c.last = 0
	}
}

// finish moves to the data after the scan.
func (s *scan) finish() {
	s.at = s.pos
	for _, c := range s.comps {
		c.last = 0
	}
}
