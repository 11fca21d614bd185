package layers_test

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	G "gorgonia.org/gorgonia"
)

func TestGated(t *testing.T) {
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	weights := map[string][]float64{"gated/gate/kernel": {1, -1, 2, 0.5}, "gated/gate/bias": {0.1, 0.2},
		"gated/linear/kernel": {3, 1, -1, 2}, "gated/linear/bias": {-0.5, 1}}
	for name, c := range map[string]struct {
		activation layers.Activation
		of         func(v float64) float64
	}{
		"glu":    {nil, sigmoid},
		"swiglu": {ops.Swish, func(v float64) float64 { return v * sigmoid(v) }},
	} {
		want, in := []float64{}, []float64{1, 2, -0.5, 0.25}
		for r := range 2 {
			for u := range 2 {
				dense := func(layer string) float64 {
					k := weights["gated/"+layer+"/kernel"]
					return in[2*r]*k[u] + in[2*r+1]*k[2+u] + weights["gated/"+layer+"/bias"][u]
				}
				want = append(want, dense("linear")*c.of(dense("gate")))
			}
		}
		got := run(t, models.Eval, modeltest.Tensor(tensor.Float64, in, 2, 2), weights, func(b *models.Builder, x *G.Node) []*G.Node {
			return []*G.Node{layers.Gated(b, x, 2, layers.Weights{Activation: c.activation})}
		})
		if d := cmp.Diff(want, modeltest.Floats(got[0]), near); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// The model's seed determines the numbers: there are always dropped and kept channels.
func TestSpatialDropout(t *testing.T) {
	const rows, places, channels, rate = 8, 6, 16, 0.25
	in := numbers(rows * places * channels)
	x := modeltest.Tensor(tensor.Float64, in, rows, 2, 3, channels)
	build := func(b *models.Builder, x *G.Node) []*G.Node { return []*G.Node{layers.SpatialDropout(b, x, rate)} }
	got := modeltest.Floats(run(t, models.Train, x, nil, build)[0])
	dropped := 0
	for r := range rows {
		for c := range channels {
			first := r*places*channels + c
			scale := 1 / (1 - rate)
			if got[first] == 0 {
				scale = 0
				dropped++
			}
			for p := range places {
				k := first + p*channels
				if want := in[k] * scale; math.Abs(got[k]-want) > 1e-12 {
					t.Fatalf("place %d of channel %d of row %d is %v, expected %v as the first place has it", p, c, r, got[k], want)
				}
			}
		}
	}
	if dropped == 0 || dropped > rows*channels/2 {
		t.Errorf("%d of %d channels are dropped at rate %v", dropped, rows*channels, rate)
	}
	if d := cmp.Diff(in, modeltest.Floats(run(t, models.Eval, x, nil, build)[0])); d != "" {
		t.Error("Eval changes the input:", d)
	}
}
