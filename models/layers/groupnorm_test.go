package layers_test

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	G "gorgonia.org/gorgonia"
)

func TestRMSNorm(t *testing.T) {
	const rows, width = 6, 4
	in, gamma := numbers(rows*width), []float64{1, -2, 0.5, 3}
	want := make([]float64, len(in))
	for r := range rows {
		squares := 0.0
		for _, v := range in[r*width:][:width] {
			squares += v * v
		}
		for i, v := range in[r*width:][:width] {
			want[r*width+i] = v / math.Sqrt(squares/width+1e-5) * gamma[i]
		}
	}
	got := run(t, models.Eval, modeltest.Tensor(tensor.Float64, in, 2, 3, width), map[string][]float64{"rms_normalization/gamma": gamma},
		func(b *models.Builder, x *G.Node) []*G.Node {
			return []*G.Node{layers.RMSNorm(b, x, layers.Norm{Epsilon: 1e-5})}
		})
	if d := cmp.Diff(want, modeltest.Floats(got[0]), near); d != "" {
		t.Error(d)
	}
}

func TestInstanceNorm(t *testing.T) {
	const rows, places, channels = 2, 6, 3
	in, gamma, beta := numbers(rows*places*channels), []float64{1, -2, 0.5}, []float64{0, 1, -1}
	want := make([]float64, len(in))
	for r := range rows {
		for c := range channels {
			at := func(p int) int { return (r*places+p)*channels + c }
			mean, variance := 0.0, 0.0
			for p := range places {
				mean += in[at(p)] / places
			}
			for p := range places {
				variance += (in[at(p)] - mean) * (in[at(p)] - mean) / places
			}
			for p := range places {
				want[at(p)] = (in[at(p)]-mean)/math.Sqrt(variance+1e-3)*gamma[c] + beta[c]
			}
		}
	}
	got := run(t, models.Eval, modeltest.Tensor(tensor.Float64, in, rows, 2, 3, channels),
		map[string][]float64{"instance_normalization/gamma": gamma, "instance_normalization/beta": beta},
		func(b *models.Builder, x *G.Node) []*G.Node {
			return []*G.Node{layers.InstanceNorm(b, x, layers.Norm{})}
		})
	if d := cmp.Diff(want, modeltest.Floats(got[0]), near); d != "" {
		t.Error(d)
	}
}
