package jpeg

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Errors that say why data cannot be decoded.
var (
	ErrFormat      = errors.New("invalid JPEG data")
	ErrTruncated   = fmt.Errorf("%w: it ends early", ErrFormat)
	ErrUnsupported = errors.New("JPEG of an unsupported kind")
	ErrTooLarge    = errors.New("JPEG image too large")
)

// Markers.
const (
	markerSOF0 = 0xC0
	markerSOF1 = 0xC1
	markerSOF2 = 0xC2
	markerDHT  = 0xC4
	markerRST0 = 0xD0
	markerSOI  = 0xD8
	markerEOI  = 0xD9
	markerSOS  = 0xDA
	markerDQT  = 0xDB
	markerDRI  = 0xDD
	markerAPP0 = 0xE0
	markerAdob = 0xEE
)

// Header is what an image declares before its first scan.
type Header struct {
	Width, Height int
	Components    int // as stored: 1, 3 or 4
	Progressive   bool
}

// colours is a colour space, as stored.
type colours int

const (
	gray colours = iota
	ycc
	rgb
	cmyk
	ycck
)

// component is a plane of an image.
type component struct {
	id, h, v, table byte
	quant           *[64]uint16 // natural order; the table at the beginning of the component's first scan
	dc, ac          *huffman    // of the scan

	wide, high   int // blocks in a scan of only this component
	perLine      int // blocks in memory per line: of whole units
	lines        int
	coefs        []int16 // of one line of units, or of the whole image
	last         int32   // the previous DC coefficient
	size         int     // side of a decoded block in pixels
	width, below int     // columns and rows of the plane that count
	stride       int
	plane        []byte
}

// frame is an image as its markers describe it.
type frame struct {
	Header
	data       []byte
	at         int
	comps      []component
	maxH, maxV int
	quants     [4]*[64]uint16
	dc, ac     [4]*huffman
	restart    int
	jfif       bool
	adobe      int // transform in the Adobe marker; -1: there is none
	recover    bool
	reserve    func(n int) error
}

// ReadHeader reads what an image declares before its first scan.
func ReadHeader(data []byte) (Header, error) {
	f, err := open(data, Options{})
	if err != nil {
		return Header{}, err
	}
	return f.Header, nil
}

// open reads an image's markers up to its first scan.
func open(data []byte, o Options) (*frame, error) {
	f := &frame{data: data, adobe: -1, recover: o.Recover, reserve: o.Reserve}
	if len(data) < 2 || data[0] != 0xFF || data[1] != markerSOI {
		return nil, fmt.Errorf("%w: it does not begin as an image", ErrFormat)
	}
	f.at = 2
	marker, err := f.markers()
	switch {
	case err != nil:
		return nil, err
	case marker != markerSOS || f.comps == nil:
		return nil, fmt.Errorf("%w: no image in it", ErrFormat)
	}
	return f, nil
}

// marker finds the next marker.
func (f *frame) marker() (byte, error) {
	for ; f.at+1 < len(f.data); f.at++ {
		if m := f.data[f.at+1]; f.data[f.at] == 0xFF && m != 0 && m != 0xFF {
			f.at += 2
			return m, nil
		}
	}
	return 0, ErrTruncated
}

// markers reads markers up to a scan, whose header it leaves, or the end. With recover set, an image ends where its data does.
func (f *frame) markers() (byte, error) {
	m, err := f.upToScan()
	if f.recover && errors.Is(err, ErrTruncated) {
		return markerEOI, nil
	}
	return m, err
}

func (f *frame) upToScan() (byte, error) {
	for {
		m, err := f.marker()
		if err != nil || m == markerSOS || m == markerEOI {
			return m, err
		}
		if m == 1 || m >= markerRST0 && m <= markerSOI {
			continue // has no segment
		}
		body, err := f.segment()
		if err != nil {
			return 0, err
		}
		if err := f.read(m, body); err != nil {
			return 0, err
		}
	}
}

// segment reads the segment of a marker.
func (f *frame) segment() ([]byte, error) {
	if f.at+2 > len(f.data) {
		return nil, ErrTruncated
	}
	n := int(binary.BigEndian.Uint16(f.data[f.at:]))
	if n < 2 {
		return nil, fmt.Errorf("%w: a segment of %d bytes", ErrFormat, n)
	}
	if f.at+n > len(f.data) {
		return nil, ErrTruncated
	}
	body := f.data[f.at+2 : f.at+n]
	f.at += n
	return body, nil
}

func (f *frame) read(m byte, body []byte) error {
	switch {
	case m == markerSOF0 || m == markerSOF1 || m == markerSOF2:
		return f.readFrame(m, body)
	case m == markerDHT:
		return f.readHuffman(body)
	case m > markerSOF2 && m <= 0xCF:
		return fmt.Errorf("%w: process %#x, expected baseline or progressive with Huffman codes", ErrUnsupported, m)
	case m == markerDQT:
		return f.readQuant(body)
	case m == markerDRI:
		if len(body) != 2 {
			return fmt.Errorf("%w: a restart interval of %d bytes", ErrFormat, len(body))
		}
		f.restart = int(binary.BigEndian.Uint16(body))
	case m == markerAPP0:
		f.jfif = f.jfif || len(body) >= 14 && string(body[:5]) == "JFIF\x00"
	case m == markerAdob:
		if len(body) >= 12 && string(body[:5]) == "Adobe" {
			f.adobe = int(body[11])
		}
	}
	return nil
}

func (f *frame) readQuant(body []byte) error {
	for len(body) > 0 {
		wide, id := body[0]>>4, body[0]&15
		n := 64
		if wide != 0 {
			n = 128
		}
		if id > 3 || len(body) < 1+n {
			return fmt.Errorf("%w: table of quantization %d of %d bytes", ErrFormat, id, len(body)-1)
		}
		q := new([64]uint16)
		for i := range q {
			if wide != 0 {
				q[natural[i]] = binary.BigEndian.Uint16(body[1+2*i:])
			} else {
				q[natural[i]] = uint16(body[1+i])
			}
		}
		f.quants[id] = q
		body = body[1+n:]
	}
	return nil
}

// readFrame reads the sizes and components of an image.
func (f *frame) readFrame(m byte, body []byte) error {
	if f.comps != nil {
		return fmt.Errorf("%w: two images in one", ErrFormat)
	}
	if len(body) < 6 || len(body) != 6+3*int(body[5]) {
		return fmt.Errorf("%w: the header of the image has %d bytes", ErrFormat, len(body))
	}
	f.Header = Header{Height: int(binary.BigEndian.Uint16(body[1:])), Width: int(binary.BigEndian.Uint16(body[3:])), Components: int(body[5]), Progressive: m == markerSOF2}
	switch {
	case body[0] != 8:
		return fmt.Errorf("%w: %d bits, expected 8", ErrUnsupported, body[0])
	case f.Width == 0 || f.Height == 0 || f.Width > 65500 || f.Height > 65500:
		return fmt.Errorf("%w: %d x %d pixels", ErrFormat, f.Width, f.Height)
	case f.Components != 1 && f.Components != 3 && f.Components != 4:
		return fmt.Errorf("%w: %d components, expected 1, 3 or 4", ErrUnsupported, f.Components)
	}
	f.comps = make([]component, f.Components)
	for i := range f.comps {
		b := body[6+3*i:]
		c := component{id: b[0], h: b[1] >> 4, v: b[1] & 15, table: b[2]}
		if c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4 || c.table > 3 {
			return fmt.Errorf("%w: component %d of %d x %d blocks, table %d", ErrFormat, c.id, c.h, c.v, c.table)
		}
		f.comps[i] = c
		f.maxH, f.maxV = max(f.maxH, int(c.h)), max(f.maxV, int(c.v))
	}
	for i := range f.comps {
		c := &f.comps[i]
		c.wide, c.high = ceil(f.Width*int(c.h), 8*f.maxH), ceil(f.Height*int(c.v), 8*f.maxV)
		c.perLine, c.lines = f.unitsWide()*int(c.h), f.unitsHigh()*int(c.v)
	}
	return nil
}

func ceil(a, b int) int { return (a + b - 1) / b }

// unitsWide and unitsHigh are the numbers of units, of maxH x maxV blocks, in a scan of all components.
func (f *frame) unitsWide() int { return ceil(f.Width, 8*f.maxH) }
func (f *frame) unitsHigh() int { return ceil(f.Height, 8*f.maxV) }

// kind determines the stored colour space from the markers, or else from the names of the components.
func (f *frame) kind() colours {
	switch f.Components {
	case 1:
		return gray
	case 4:
		if f.adobe > 0 {
			return ycck
		}
		return cmyk
	}
	names := string([]byte{f.comps[0].id, f.comps[1].id, f.comps[2].id})
	if !f.jfif && (f.adobe == 0 || f.adobe < 0 && names == "RGB") {
		return rgb
	}
	return ycc
}
