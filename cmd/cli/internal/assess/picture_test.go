package assess

import (
	"bytes"
	"image/png"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// A picture has the bytes of the original image, however they were scaled for the model.
func TestPicture(t *testing.T) {
	for name, c := range map[string]struct {
		px    Pixels
		value float32
		shape []int
		want  uint32
	}{
		"bytes":      {Pixels{}, 51, []int{8, 8, 1}, 51},
		"fractions":  {Pixels{}, 0.2, []int{8, 8, 1}, 51},
		"scaled":     {Pixels{Scale: 255}, 0.2, []int{8, 8, 3}, 51},
		"normalised": {Pixels{Scale: 255, Mean: []float64{0.5}, Std: []float64{0.25}}, -1.2, []int{8, 8}, 51},
		"too great":  {Pixels{Scale: 255}, 7, []int{300, 9, 1}, 255},
	} {
		x := tensor.New(tensor.Float32, c.shape...)
		for i := range x.Len() {
			tensor.Values[float32](x)[i] = c.value
		}
		img, err := png.Decode(bytes.NewReader(picture(x, c.px)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r, g, b, _ := img.At(1, 1).RGBA(); r>>8 != c.want || g != r || b != r || img.Bounds().Dy() > mostSide {
			t.Errorf("%s: got %d %d %d of %v, expected %d", name, r>>8, g>>8, b>>8, img.Bounds(), c.want)
		}
	}
	for _, shape := range [][]int{{}, {64}, {8, 7}, {8, 8, 2}, {2, 8, 8, 3}} {
		if picture(tensor.New(tensor.Float32, shape...), Pixels{}) != nil {
			t.Errorf("shape %v: got a picture", shape)
		}
	}
}
