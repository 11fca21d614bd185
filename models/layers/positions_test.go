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

// numbers returns n values without a pattern, the same each time.
func numbers(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Sin(float64(i*i) + 0.3)
	}
	return v
}

// Rotary positions multiply pairs, as complex numbers, by exp(i·angle).
func TestRotary(t *testing.T) {
	const rows, length, heads, depth, base = 2, 3, 2, 6, 100
	in := numbers(rows * length * heads * depth)
	want := make([]float64, len(in))
	for r := range rows * length * heads {
		p := r / heads % length
		for i := range depth / 2 {
			angle := float64(p) * math.Pow(base, -2*float64(i)/depth)
			z := complex(in[r*depth+i], in[r*depth+i+depth/2]) * complex(math.Cos(angle), math.Sin(angle))
			want[r*depth+i], want[r*depth+i+depth/2] = real(z), imag(z)
		}
	}
	got := run(t, models.Eval, modeltest.Tensor(tensor.Float64, in, rows, length, heads, depth), nil, func(b *models.Builder, x *G.Node) []*G.Node {
		return []*G.Node{layers.Rotary(b, x, base)}
	})
	if d := cmp.Diff(want, modeltest.Floats(got[0]), near); d != "" {
		t.Error(d)
	}
}

// TestRotaryAt: a single position of each text is rotated as within the whole text.
func TestRotaryAt(t *testing.T) {
	const rows, length, heads, depth, base = 2, 4, 3, 6, 100
	in := modeltest.Tensor(tensor.Float64, numbers(rows*length*heads*depth), rows, length, heads, depth)
	got := run(t, models.Eval, in, nil, func(b *models.Builder, x *G.Node) []*G.Node {
		places := tensor.New(tensor.Int32, rows)
		copy(tensor.Values[int32](places), []int32{3, 1})
		at := func(x *G.Node) *G.Node { // position 3 of the first text, 1 of the second
			own := ops.Reshape(b, x, -1, heads, depth)
			return ops.Reshape(b, ops.GatherAxis(b, own, ops.Constant(b, modeltest.Tensor(tensor.Int32, []float64{3, length + 1}, rows)), 0), -1, 1, heads, depth)
		}
		return []*G.Node{at(layers.Rotary(b, x, base)), layers.RotaryAt(b, at(x), ops.Constant(b, places), length, base)}
	})
	if d := cmp.Diff(modeltest.Floats(got[0]), modeltest.Floats(got[1]), near); d != "" {
		t.Error(d)
	}
}

func TestSinusoidalPositions(t *testing.T) {
	const rows, length, width, base = 2, 5, 4, 1e4
	in := numbers(rows * length * width)
	want := make([]float64, len(in))
	for k, v := range in {
		p, i := float64(k/width%length), k%width
		if i < width/2 {
			want[k] = v + math.Sin(p/math.Pow(base, 2*float64(i)/width))
		} else {
			want[k] = v + math.Cos(p/math.Pow(base, 2*float64(i-width/2)/width))
		}
	}
	got := run(t, models.Eval, modeltest.Tensor(tensor.Float64, in, rows, length, width), nil, func(b *models.Builder, x *G.Node) []*G.Node {
		return []*G.Node{layers.SinusoidalPositions(b, x, base)}
	})
	if d := cmp.Diff(want, modeltest.Floats(got[0]), near); d != "" {
		t.Error(d)
	}
}

func TestLearnedPositions(t *testing.T) {
	x := modeltest.Tensor(tensor.Float64, []float64{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2)
	got := run(t, models.Eval, x, map[string][]float64{"position_embedding/embeddings": {10, 20, 30, 40, 50, 60}}, func(b *models.Builder, x *G.Node) []*G.Node {
		return []*G.Node{layers.LearnedPositions(b, x, 3, layers.Weights{})}
	})
	if d := cmp.Diff([]float64{11, 22, 33, 44, 15, 26, 37, 48}, modeltest.Floats(got[0]), near); d != "" {
		t.Error(d)
	}
}
