package raster

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Pixels are an image, row by row.
type Pixels struct {
	Bytes                   []byte
	Height, Width, Channels int
	Size                    int // of a channel: 1, or 2 for little-endian 16-bit numbers
}

// EncodePNG encodes pixels of 1 to 4 channels. Level is zlib's, -1 the default. Interrupted is called for each row; an error ends encoding.
func EncodePNG(p Pixels, level int, interrupted func() error) ([]byte, error) {
	row := p.Width * p.Channels * p.Size
	if p.Height < 1 || p.Width < 1 || p.Channels < 1 || p.Channels > 4 || p.Size != 1 && p.Size != 2 || len(p.Bytes) != p.Height*row || level < -1 || level > 9 {
		return nil, fmt.Errorf("encoding %d bytes as %d x %d pixels of %d channels, level %d: expected pixels of 1 to 4 channels, and a level up to 9", len(p.Bytes), p.Width, p.Height, p.Channels, level)
	}
	head := make([]byte, 13)
	binary.BigEndian.PutUint32(head, uint32(p.Width))
	binary.BigEndian.PutUint32(head[4:], uint32(p.Height))
	head[8], head[9] = byte(8*p.Size), [5]byte{0, pngGray, pngGrayA, pngRGB, pngRGBA}[p.Channels]
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, level)
	if err != nil {
		return nil, err
	}
	line, last := make([]byte, 1+row), make([]byte, row)
	for y := range p.Height {
		if err := interrupted(); err != nil {
			return nil, err
		}
		src := p.Bytes[y*row : (y+1)*row]
		if p.Size == 2 {
			src = swapped(src)
		}
		filter(line, src, last, p.Channels*p.Size)
		if _, err := z.Write(line); err != nil {
			return nil, err
		}
		last = src
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	out := chunk([]byte(pngMagic), "IHDR", head)
	out = chunk(out, "IDAT", packed.Bytes())
	return chunk(out, "IEND", nil), nil
}

func swapped(src []byte) []byte {
	out := make([]byte, len(src))
	for i := 0; i < len(src); i += 2 {
		out[i], out[i+1] = src[i+1], src[i]
	}
	return out
}

// filter writes a row as differences, with the simple filter or Paeth's: to the row above if these are smaller than those to the
// left.
func filter(line, src, up []byte, each int) {
	best := -1
	for _, kind := range []byte{1, 2, 4} {
		sum := 0
		for i, v := range src {
			sum += cost(v - predicted(kind, src, up, i, each))
		}
		if best >= 0 && sum >= best {
			continue
		}
		best = sum
		line[0] = kind
		for i, v := range src {
			line[1+i] = v - predicted(kind, src, up, i, each)
		}
	}
}

func cost(d byte) int { return max(int(int8(d)), -int(int8(d))) }

func predicted(kind byte, src, up []byte, i, each int) byte {
	var left, corner byte
	if i >= each {
		left, corner = src[i-each], up[i-each]
	}
	switch kind {
	case 1:
		return left
	case 2:
		return up[i]
	}
	return paeth(left, up[i], corner)
}

func chunk(out []byte, kind string, body []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(body)))
	at := len(out)
	out = append(append(out, kind...), body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[at:]))
}
