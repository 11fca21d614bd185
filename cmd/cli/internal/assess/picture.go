package assess

import (
	"bytes"
	"image"
	"image/color"
	"image/png"

	"github.com/goestimator/goestimator/tensor"
)

// Pixels says how bytes became the values of images: (byte/Scale - Mean) / Std. Pictures undo it.
type Pixels struct {
	Scale     float64
	Mean, Std []float64
}

// mostSide is the greatest height or width of a picture; larger images are shown with fewer pixels.
const mostSide = 128

// picture draws a value of shape [height, width, 1 or 3] or [height, width] as PNG; nil if it is no image.
func picture(t *tensor.Tensor, px Pixels) []byte {
	if t.DType == tensor.String || len(t.Shape) < 2 || len(t.Shape) > 3 || t.Shape[0] < 8 || t.Shape[1] < 8 {
		return nil
	}
	channels := 1
	if len(t.Shape) == 3 {
		if channels = t.Shape[2]; channels != 1 && channels != 3 {
			return nil
		}
	}
	h, w := t.Shape[0], t.Shape[1]
	every := (max(h, w) + mostSide - 1) / mostSide
	unit := px.unit(t)
	img := image.NewNRGBA(image.Rect(0, 0, (w+every-1)/every, (h+every-1)/every))
	for y := 0; y < h; y += every {
		for x := 0; x < w; x += every {
			var c [3]byte
			for k := range c {
				from := min(k, channels-1)
				c[k] = byte(min(max(px.value(t.Float((y*w+x)*channels+from), from)*unit+0.5, 0), 255))
			}
			img.SetNRGBA(x/every, y/every, color.NRGBA{c[0], c[1], c[2], 255})
		}
	}
	var out bytes.Buffer
	if png.Encode(&out, img) != nil {
		return nil
	}
	return out.Bytes()
}

// value undoes mean, std and scale.
func (px Pixels) value(x float64, channel int) float64 {
	if len(px.Std) > 0 {
		x *= px.Std[min(channel, len(px.Std)-1)]
	}
	if len(px.Mean) > 0 {
		x += px.Mean[min(channel, len(px.Mean)-1)]
	}
	if px.Scale > 0 {
		x *= px.Scale
	}
	return x
}

// unit is 255 for values in 0 to 1 whose scale is not known, else 1.
func (px Pixels) unit(t *tensor.Tensor) float64 {
	if !t.DType.Float() || px.Scale > 0 {
		return 1
	}
	for i := range t.Len() {
		if px.value(t.Float(i), 0) > 1.5 {
			return 1
		}
	}
	return 255
}
