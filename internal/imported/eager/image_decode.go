package eager

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/jpeg"
	"github.com/goestimator/goestimator/internal/format/raster"
	"github.com/goestimator/goestimator/tensor"
)

// codecOps decode and encode images.
var codecOps = map[*ops.Def]maker{
	ops.DecodeJpeg:                imageDecoder,
	ops.DecodeAndCropJpeg:         imageDecoder,
	ops.DecodePng:                 imageDecoder,
	ops.DecodeGif:                 imageDecoder,
	ops.DecodeBmp:                 imageDecoder,
	ops.DecodeImage:               imageDecoder,
	ops.ExtractJpegShape:          jpegShape,
	ops.EncodeJpeg:                encodeJPEG,
	ops.EncodeJpegVariableQuality: encodeJPEGs,
	ops.EncodePng:                 encodePNG,
}

// decoding has the attributes of an op that decodes an image. Each op also decodes most other kinds of images.
type decoding struct {
	op       string
	channels int
	dtype    tensor.DType
	expand   bool // return all frames of an animation
	jpeg     jpeg.Options
}

func imageDecoder(s *site) (kernel, error) {
	d := decoding{op: s.node.Op, channels: s.node.Int("channels", 0), dtype: s.dtype("dtype", tensor.Uint8), expand: s.boolean("expand_animations", true)}
	if !slices.Contains([]int{0, 1, 3, 4}, d.channels) {
		return nil, fmt.Errorf("`channels` must be 0, 1, 3 or 4 but got %d", d.channels)
	}
	if d.op == "DecodeGif" {
		d.channels = 3
	}
	d.jpeg = jpeg.Options{Channels: d.channels, Ratio: s.node.Int("ratio", 1), Plain: !s.boolean("fancy_upscaling", true), Recover: s.boolean("try_recover_truncated", false)}
	if r := d.jpeg.Ratio; r != 1 && r != 2 && r != 4 && r != 8 {
		return nil, fmt.Errorf("ratio must be 1, 2, 4, or 8, got %d", r)
	}
	switch method := s.str("dct_method", ""); method {
	case "", "INTEGER_FAST":
	case "INTEGER_ACCURATE":
		d.jpeg.Accurate = true
	default:
		return nil, fmt.Errorf("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}, got %q", method)
	}
	return d.run, nil
}

// encodedImage returns the string in a scalar.
func encodedImage(t *tensor.Tensor) ([]byte, error) {
	if err := want("contents", t, tensor.String); err != nil {
		return nil, err
	}
	if len(t.Shape) != 0 {
		return nil, fmt.Errorf("`contents` must be scalar but got shape %v", t.Shape)
	}
	return t.Strings[0], nil
}

// run decodes an image; its first bytes say which kind it is.
func (d decoding) run(c call) error {
	data, err := encodedImage(c.t(0))
	if err != nil {
		return err
	}
	is := func(magic string) bool { return bytes.HasPrefix(data, []byte(magic)) }
	switch {
	case len(data) == 0:
		return errors.New("Input is empty.")
	case is("\xff\xd8\xff"):
		return d.decodeJPEG(c, data)
	case is("\x89PNG\r\n\x1a\n"):
		return d.decodePNG(c, data)
	case is("GIF8"):
		return d.decodeGIF(c, data)
	case is("BM"):
		return d.decodeBMP(c, data)
	case is("RIFF") && len(data) > 12 && string(data[8:12]) == "WEBP":
		return fmt.Errorf("WebP images are %w: use JPEG, PNG, GIF or BMP", ErrUnsupported)
	}
	return errors.New("Unknown image file format. One of JPEG, PNG, GIF, BMP required.")
}

// only refuses a kind of image that the op does not decode.
func (d decoding) only(kind string, ops ...string) error {
	if d.op == "DecodeAndCropJpeg" && kind != "JPEG" {
		return fmt.Errorf("DecodeAndCropJpeg operation can run on JPEG only, but detected %s.", kind)
	}
	if slices.Contains(ops, d.op) {
		return fmt.Errorf("Trying to decode %s format using a wrong op. Op used: %s", kind, d.op)
	}
	return nil
}

// pixels makes the output, and returns the bytes for an 8-bit image.
func (d decoding) pixels(c call, shape ...int) ([]byte, error) {
	out, err := c.output(0, d.dtype, shape...)
	if err != nil {
		return nil, err
	}
	if d.dtype == tensor.Uint8 {
		return out.Bytes, nil
	}
	if err := c.pay(out.Len()); err != nil {
		return nil, err
	}
	return make([]byte, out.Len()), nil
}

// widen converts 8-bit pixels to the output.
func (d decoding) widen(c call, from []byte) {
	switch out := c.out[0].T; d.dtype {
	case tensor.Uint16:
		for i, v := range from {
			tensor.Values[uint16](out)[i] = uint16(v) << 8
		}
	case tensor.Float32:
		const scale = float32(1. / 255)
		for i, v := range from {
			tensor.Values[float32](out)[i] = float32(v) * scale
		}
	}
}

// refused reports a damaged image in TensorFlow's words, and a lack of memory or time in ours.
func refused(err error, text string, args ...any) error {
	if err == nil || !errors.Is(err, jpeg.ErrFormat) && !errors.Is(err, jpeg.ErrUnsupported) && !errors.Is(err, jpeg.ErrTooLarge) && !errors.Is(err, raster.ErrFormat) {
		return err
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(text, args...), err)
}

func (d decoding) decodeJPEG(c call, data []byte) error {
	if d.channels == 4 {
		return errors.New("JPEG does not support 4 channels")
	}
	if err := d.only("JPEG", "DecodeBmp"); err != nil {
		return err
	}
	o := d.jpeg
	o.Reserve = func(n int) error { return c.room(n, 1) }
	o.Interrupted = c.ctx.Err
	if d.op == "DecodeAndCropJpeg" {
		w, err := c.vector("crop_window", c.t(1))
		if err != nil || len(w) != 4 {
			return fmt.Errorf("crop_window must be 1-D and have four elements, got shape %v", c.t(1).Shape)
		}
		o.Crop = &jpeg.Window{Y: w[0], X: w[1], Height: w[2], Width: w[3]}
	}
	var px []byte
	err := jpeg.Decode(data, o, func(height, width, channels int) (b []byte, err error) {
		shape := []int{height, width, channels}
		if d.op == "DecodeGif" {
			shape = []int{1, height, width, channels}
		}
		px, err = d.pixels(c, shape...)
		return px, err
	})
	if err != nil {
		return refused(err, "jpeg::Uncompress failed. Invalid JPEG data or crop window.")
	}
	d.widen(c, px)
	return nil
}

func (d decoding) decodePNG(c call, data []byte) error {
	if err := d.only("PNG", "DecodeBmp"); err != nil {
		return err
	}
	var px []byte
	err := raster.DecodePNG(data, d.channels, d.dtype != tensor.Uint8, c.ctx.Err, func(height, width, channels, each int) ([]byte, error) {
		shape := []int{height, width, channels}
		if d.op == "DecodeGif" {
			shape = []int{1, height, width, channels}
		}
		out, err := c.output(0, d.dtype, shape...)
		if err != nil {
			return nil, err
		}
		if px = out.Bytes; d.dtype == tensor.Float32 {
			if err := c.room(out.Len(), each); err != nil {
				return nil, err
			}
			px = make([]byte, each*out.Len())
		}
		return px, nil
	})
	if err != nil {
		return refused(err, "Invalid PNG data, size %d", len(data))
	}
	if d.dtype == tensor.Float32 {
		const scale = float32(1. / 65535)
		out := tensor.Values[float32](c.out[0].T)
		for i := range out {
			out[i] = float32(uint16(px[2*i])|uint16(px[2*i+1])<<8) * scale
		}
	}
	return nil
}

func (d decoding) decodeGIF(c call, data []byte) error {
	if d.channels != 0 && d.channels != 3 {
		return fmt.Errorf("channels must be 0 or 3 for GIF, got %d", d.channels)
	}
	if err := d.only("GIF", "DecodeBmp"); err != nil {
		return err
	}
	var px []byte
	err := raster.DecodeGIF(data, !d.expand, c.ctx.Err, func(frames, height, width int) (b []byte, err error) {
		shape := []int{frames, height, width, 3}
		switch d.op {
		case "DecodePng", "DecodeJpeg":
			if frames != 1 {
				return nil, fmt.Errorf("Got %d frames, but animated gifs can only be decoded by tf.io.decode_gif or tf.io.decode_image", frames)
			}
			shape = shape[1:]
		case "DecodeImage":
			if !d.expand {
				shape = shape[1:]
			}
		}
		px, err = d.pixels(c, shape...)
		return px, err
	})
	if err != nil {
		return refused(err, "Invalid GIF data (size %d)", len(data))
	}
	d.widen(c, px)
	return nil
}

func (d decoding) decodeBMP(c call, data []byte) error {
	if d.channels == 1 {
		return errors.New("`channels` must be 0, 3 or 4 for BMP, but got 1")
	}
	if err := d.only("BMP", "DecodeJpeg", "DecodePng", "DecodeGif"); err != nil {
		return err
	}
	var px []byte
	err := raster.DecodeBMP(data, d.channels, func(height, width, channels, _ int) (b []byte, err error) {
		px, err = d.pixels(c, height, width, channels)
		return px, err
	})
	if err != nil {
		return err
	}
	d.widen(c, px)
	return nil
}

func jpegShape(s *site) (kernel, error) {
	dtype := s.dtype("output_type", tensor.Int32)
	return func(c call) error {
		data, err := encodedImage(c.t(0))
		if err != nil {
			return err
		}
		h, err := jpeg.ReadHeader(data)
		if err != nil {
			return refused(err, "Invalid JPEG data, size %d", len(data))
		}
		out, err := c.output(0, dtype, 3)
		if err != nil {
			return err
		}
		for i, v := range []int{h.Height, h.Width, h.Components} {
			if dtype == tensor.Int64 {
				tensor.Values[int64](out)[i] = int64(v)
			} else {
				tensor.Values[int32](out)[i] = int32(v)
			}
		}
		return nil
	}, nil
}
