package summary

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"

	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"

	"github.com/goestimator/goestimator/tensor"
)

// Image returns up to maxOutputs pictures of a tensor of shape [n, height, width,
// channels] or [height, width, channels] with 1 (grey), 3 (RGB) or 4 (RGBA)
// channels, as PNG. Uint8 elements are used directly; others are scaled like
// tf.summary.image: the largest to 255 or, if some are negative, zero to
// 128 and the extreme to 1 or 255. Pixels that are not finite become red (white
// in a grey picture). The tags are tag/image, or tag/image/0 and so on.
func Image(tag string, t *tensor.Tensor, maxOutputs int) ([]*Value, error) {
	shape := t.Shape
	if len(shape) == 3 {
		shape = append([]int{1}, shape...)
	}
	if len(shape) != 4 || (shape[3] != 1 && shape[3] != 3 && shape[3] != 4) {
		return nil, fmt.Errorf("image %s: expected shape [n, height, width, 1, 3 or 4], got %v", tag, t.Shape)
	}
	values, err := toFloats(t)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", tag, err)
	}
	size := shape[1] * shape[2] * shape[3]
	var out []*Value
	for i := range min(shape[0], maxOutputs) {
		pixels := values[i*size : (i+1)*size]
		if t.DType != tensor.Uint8 {
			scalePixels(pixels, shape[3])
		}
		b, err := encodePNG(pixels, shape[1], shape[2], shape[3])
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", tag, err)
		}
		name := tag + "/image"
		if maxOutputs > 1 {
			name = fmt.Sprintf("%s/%d", name, i)
		}
		out = append(out, &Value{Tag: name, Value: &summarypb.Summary_Value_Image{Image: &summarypb.Summary_Image{
			Height: int32(shape[1]), Width: int32(shape[2]), Colorspace: int32(shape[3]), EncodedImageString: b,
		}}})
	}
	return out, nil
}

// scalePixels maps one picture's values to 0..255 in place.
func scalePixels(v []float64, channels int) {
	lo, hi := 0.0, 0.0
	for _, x := range v {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	scale, offset := 0.0, 0.0
	switch {
	case lo < 0:
		scale, offset = 127/max(-lo, hi), 128
	case hi > 0:
		scale = 255 / hi
	}
	for i := 0; i < len(v); i += channels {
		bad := false
		for c, x := range v[i : i+channels] {
			bad = bad || math.IsNaN(x) || math.IsInf(x, 0)
			v[i+c] = x*scale + offset
		}
		if bad {
			copy(v[i:i+channels], []float64{255, 0, 0, 255})
		}
	}
}

func encodePNG(v []float64, height, width, channels int) ([]byte, error) {
	rect := image.Rect(0, 0, width, height)
	at := func(i int) uint8 { return uint8(min(max(v[i], 0), 255)) }
	var img image.Image
	if channels == 1 {
		g := image.NewGray(rect)
		for i := range g.Pix {
			g.Pix[i] = at(i)
		}
		img = g
	} else {
		p := image.NewNRGBA(rect)
		for i := range width * height {
			c := color.NRGBA{at(i * channels), at(i*channels + 1), at(i*channels + 2), 255}
			if channels == 4 {
				c.A = at(i*channels + 3)
			}
			p.SetNRGBA(i%width, i/width, c)
		}
		img = p
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
