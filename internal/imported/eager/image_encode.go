package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/format/jpeg"
	"github.com/goestimator/goestimator/internal/format/raster"
	"github.com/goestimator/goestimator/tensor"
)

// encodeJPEG encodes an image [height, width, channels].
func encodeJPEG(s *site) (kernel, error) {
	e := jpeg.Encoding{Quality: s.node.Int("quality", 95), Progressive: s.boolean("progressive", false), Downsample: s.boolean("chroma_downsampling", true), Unit: 1,
		XDensity: uint16(s.node.Int("x_density", 300)), YDensity: uint16(s.node.Int("y_density", 300)), XMP: []byte(s.str("xmp_metadata", ""))}
	if s.str("density_unit", "in") == "cm" {
		e.Unit = 2
	}
	if e.Quality < 0 || e.Quality > 100 {
		return nil, fmt.Errorf("quality must be in [0,100], got %d", e.Quality)
	}
	want := map[string]int{"grayscale": 1, "rgb": 3}[s.str("format", "")]
	return func(c call) error {
		if x := c.t(0); want > 0 && len(x.Shape) == 3 && x.Shape[2] != want {
			return fmt.Errorf("format %q expects %d channels, got %d", s.str("format", ""), want, x.Shape[2])
		}
		return encodedJPEG(c, e)
	}, nil
}

// encodeJPEGs encodes an image with the quality in input 1.
func encodeJPEGs(*site) (kernel, error) {
	return func(c call) error {
		quality, err := integer("quality", c.t(1))
		if err != nil {
			return err
		}
		if quality < 0 || quality > 100 {
			return fmt.Errorf("quality must be in [0,100], got %d", quality)
		}
		return encodedJPEG(c, jpeg.Encoding{Quality: quality, Downsample: true, Unit: 1, XDensity: 300, YDensity: 300})
	}, nil
}

func encodedJPEG(c call, e jpeg.Encoding) error {
	x := c.t(0)
	if err := want("image", x, tensor.Uint8); err != nil {
		return err
	}
	if len(x.Shape) != 3 || x.Shape[2] != 1 && x.Shape[2] != 3 {
		return fmt.Errorf("image must be 3-dimensional, of 1 or 3 channels, got shape %v", x.Shape)
	}
	e.Height, e.Width, e.Channels, e.Interrupted = x.Shape[0], x.Shape[1], x.Shape[2], c.ctx.Err
	if err := c.room(x.Len(), 2); err != nil { // for coefficients
		return err
	}
	b, err := jpeg.Encode(x.Bytes, e)
	if err != nil {
		return fmt.Errorf("JPEG encoding failed: %w", err)
	}
	return oneString(c, b)
}

// oneString sets the output to a string that was just allocated.
func oneString(c call, b []byte) error {
	out, err := c.output(0, tensor.String)
	if err != nil {
		return err
	}
	out.Strings[0] = b
	room := c.textRoom()
	return room.take(len(b))
}

// encodePNG encodes images [..., height, width, channels].
func encodePNG(s *site) (kernel, error) {
	level := s.node.Int("compression", -1)
	if level < -1 || level > 9 {
		return nil, fmt.Errorf("compression should be in [-1,9], got %d", level)
	}
	return func(c call) error {
		x := c.t(0)
		if x.DType != tensor.Uint8 && x.DType != tensor.Uint16 {
			return fmt.Errorf("image: expected uint8 or uint16, got %v", x.DType)
		}
		n := len(x.Shape)
		if n < 3 || x.Shape[n-1] < 1 || x.Shape[n-1] > 4 || x.Len() == 0 || x.Len()/x.Shape[n-1] >= 1<<31-1 {
			return fmt.Errorf("image must be at least 3-dimensional, have pixels, and have 1 to 4 channels, got shape %v", x.Shape)
		}
		out, err := c.output(0, tensor.String, x.Shape[:n-3]...)
		if err != nil {
			return err
		}
		room := c.textRoom()
		size := len(x.Bytes) / len(out.Strings)
		for i := range out.Strings {
			p := raster.Pixels{Bytes: x.Bytes[i*size : (i+1)*size], Height: x.Shape[n-3], Width: x.Shape[n-2], Channels: x.Shape[n-1], Size: x.DType.Size()}
			b, err := raster.EncodePNG(p, level, c.ctx.Err)
			if err != nil {
				return err
			}
			if err := room.take(len(b)); err != nil {
				return err
			}
			out.Strings[i] = b
		}
		return nil
	}, nil
}
