package networks_test

import (
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Bytes that the program scales and normalizes give the same results as floats that were
// normalized before.
func TestImagesAreNormalizedInTheProgram(t *testing.T) {
	mean, std := []float64{0.5, 0.25, 0.75}, []float64{0.2, 0.3, 0.4}
	raw, ready := tensor.New(tensor.Uint8, 4, 8, 8, 3), tensor.New(tensor.Float32, 4, 8, 8, 3)
	for i := range raw.Len() {
		v := uint8(i * 37)
		tensor.Values[uint8](raw)[i] = v
		tensor.Values[float32](ready)[i] = float32((float64(v)/255 - mean[i%3]) / std[i%3])
	}
	logits := func(params map[string]any, x *tensor.Tensor) []float64 {
		net, err := networks.New("cnn", params)
		if err != nil {
			t.Fatal(err)
		}
		p := modeltest.New(t, models.Options{Mode: models.Eval, Seed: 3}, func(b *models.Builder) []*G.Node {
			return []*G.Node{net(b, models.NewFeatures(b, feature(b, "x", x.DType, x.Shape[1:]...)), 5)}
		})
		return modeltest.Floats(p.Host(t, 4, x)[0])
	}
	want := logits(nil, ready)
	for i, v := range logits(map[string]any{"mean": mean, "std": "0.2, 0.3, 0.4"}, raw) {
		if d := math.Abs(v - want[i]); d > 1e-5 {
			t.Fatalf("logit %d: expected %g, got %g", i, want[i], v)
		}
	}
}

func TestWrongImageParameters(t *testing.T) {
	for _, c := range []struct {
		params map[string]any
		want   string
	}{
		{map[string]any{"std": []float64{0.1, 0}}, "std"},
		{map[string]any{"crop_padding": -1}, "crop_padding"},
		{map[string]any{"mean": []float64{1, 2}}, "mean has 2 numbers: expected 1, or one for each of 3 channels"},
		{map[string]any{"crop_padding": 9}, "padding 9"},
	} {
		net, err := networks.New("resnet20", c.params)
		if err == nil {
			_, err = models.Build(models.Options{Batch: 2, Mode: models.Train}, func(b *models.Builder) error {
				net(b, models.NewFeatures(b, feature(b, "x", tensor.Uint8, 8, 8, 3)), 5)
				return nil
			})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: expected an error with %q, got %v", c.params, c.want, err)
		}
	}
}
