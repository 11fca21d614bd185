package raster

import (
	"encoding/binary"
	"fmt"
)

// DecodeBMP decodes an uncompressed BMP image of 8, 24 or 32 bits into 3 or 4 channels; 0: as many as it has. The indices of 8-bit images are
// read as gray values.
func DecodeBMP(data []byte, channels int, allocate Allocate) error {
	if len(data) < 32 {
		return fmt.Errorf("%w: Incomplete bmp content, requires at least 32 bytes to find the header size, width, height, and bpp, got %d bytes", ErrFormat, len(data))
	}
	number := func(at int) int { return int(int32(binary.LittleEndian.Uint32(data[at:]))) }
	header, width, height := number(10), number(18), number(22)
	has := int(int16(binary.LittleEndian.Uint16(data[28:]))) / 8
	switch {
	case has != 1 && has != 3 && has != 4:
		return fmt.Errorf("%w: Number of channels inherent in the image must be 1, 3 or 4, was %d", ErrFormat, has)
	case width <= 0 || height == 0 || header < 0:
		return fmt.Errorf("%w: a BMP image of %d x %d pixels, and a header of %d bytes", ErrFormat, width, height, header)
	}
	down := height < 0
	height = max(height, -height)
	if width*height >= 1<<28-1 {
		return fmt.Errorf("%w: Total possible pixel bytes must be less than 2^30", ErrFormat)
	}
	row := (has*width + 3) / 4 * 4
	if len(data) != header+row*height {
		return fmt.Errorf("%w: Input size should match (header_size + row_size * abs_height) but they differ by %d", ErrFormat, len(data)-header-row*height)
	}
	if channels == 0 {
		channels = has
	}
	out, err := allocate(height, width, channels, 1)
	if err != nil {
		return err
	}
	for y := range height {
		line := data[header+y*row:]
		if !down {
			line = data[header+(height-1-y)*row:]
		}
		for x := range width {
			bmpPixel(out[(y*width+x)*channels:][:channels], line[x*has:][:has])
		}
	}
	return nil
}

// bmpPixel converts a pixel, which has blue first.
func bmpPixel(dst, src []byte) {
	if len(dst) == 1 {
		dst[0] = src[0]
		return
	}
	if len(src) == 1 {
		dst[0], dst[1], dst[2] = src[0], src[0], src[0]
	} else {
		dst[0], dst[1], dst[2] = src[2], src[1], src[0]
	}
	if len(dst) == 4 {
		dst[3] = 255
		if len(src) == 4 {
			dst[3] = src[3]
		}
	}
}
