package layers_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// layerFunc builds a layer on x and, if it takes one, a mask [batch, steps].
type layerFunc func(c models.Context, x, mask *G.Node) *G.Node

// recorded is the recorded result of a Keras layer: see testdata/record.py.
type recorded struct {
	Name    string
	Shape   []int
	Out     []int // the shape of Y
	X       []float64
	Weights []struct {
		Shape  []int
		Values []float64
	}
	Mask  []int
	Y, DX []float64
}

// TestKeras compares layers, and the gradients of their inputs, with Keras'.
func TestKeras(t *testing.T) {
	data, err := os.ReadFile("testdata/keras.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []recorded
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	attend := func(o layers.Heads) layerFunc {
		return func(c models.Context, x, _ *G.Node) *G.Node { return layers.MultiHeadAttention(c, x, x, o) }
	}
	builds := map[string]layerFunc{
		"attention": attend(layers.Heads{NumHeads: 2, KeyDim: 3}),
		"wide":      attend(layers.Heads{NumHeads: 3, KeyDim: 2, ValueDim: 4, NoBias: true}),
		"causal":    attend(layers.Heads{NumHeads: 2, KeyDim: 3, Causal: true}),
		"masked": func(c models.Context, x, mask *G.Node) *G.Node {
			return layers.MultiHeadAttention(c, x, x, layers.Heads{NumHeads: 2, KeyDim: 3, Mask: mask})
		},
		"group": func(c models.Context, x, _ *G.Node) *G.Node { return layers.GroupNorm(c, x, 3, layers.Norm{}) },
		"prelu": func(c models.Context, x, _ *G.Node) *G.Node { return layers.PReLU(c, x) },
		"bidirectional": func(c models.Context, x, _ *G.Node) *G.Node {
			return layers.Bidirectional(c, x, nil, layers.Rnn{Cell: layers.LSTM.Of(3)})
		},
		"spread steps": func(c models.Context, x, _ *G.Node) *G.Node {
			return layers.Conv1DTranspose(c, x, 5, layers.Window1D{Size: 3, Stride: 2, Padding: ops.Same}, layers.Weights{})
		},
		"spread steps whole": func(c models.Context, x, _ *G.Node) *G.Node {
			return layers.Conv1DTranspose(c, x, 2, layers.Window1D{Size: 2, Stride: 3}, layers.Weights{})
		},
		"separable steps": func(c models.Context, x, _ *G.Node) *G.Node {
			return layers.SeparableConv1D(c, x, 5, 2, layers.Window1D{Size: 3, Causal: true, Dilation: 2}, layers.Weights{})
		},
		"spread volumes": func(c models.Context, x, _ *G.Node) *G.Node {
			return layers.Conv3DTranspose(c, x, 3, layers.Window3D{Size: [3]int{2, 3, 1}, Strides: [3]int{2, 1, 1}, Padding: ops.Same}, layers.Weights{})
		},
		"spread volumes whole": func(c models.Context, x, _ *G.Node) *G.Node {
			return layers.Conv3DTranspose(c, x, 3, layers.Window3D{Size: [3]int{2, 3, 2}, Strides: [3]int{1, 2, 3}}, layers.Weights{})
		},
	}
	for _, r := range all {
		t.Run(r.Name, func(t *testing.T) {
			got := r.run(t, builds[r.Name])
			for i, want := range [][]float64{r.Y, r.DX} {
				for k, w := range want {
					if g := modeltest.Floats(got[i])[k]; !testkit.Near(g, w, 1e-9*math.Max(1, math.Abs(w))) {
						t.Fatalf("result %d, element %d is %v, Keras has %v", i, k, g, w)
					}
				}
			}
		})
	}
}

// run computes the layer with Keras' weights, and the gradient of sum(y·cos(place)).
func (r recorded) run(t *testing.T, build layerFunc) []*tensor.Tensor {
	x := modeltest.Tensor(tensor.Float64, r.X, r.Shape...)
	names := []string{}
	p := modeltest.New(t, models.Options{Mode: models.Eval, DType: tensor.Float64, Seed: 9}, func(b *models.Builder) []*G.Node {
		in := b.Input("x", tensor.Float64, append([]int{b.Batch()}, r.Shape[1:]...)...)
		mask := b.Input("mask", tensor.Bool, b.Batch(), r.Shape[1])
		y := build(b, in, mask)
		if b.Failed() {
			return nil
		}
		names = names[:0]
		for _, v := range b.Variables() {
			names = append(names, v.Name)
		}
		cot := b.Input("cot", tensor.Float64, y.Shape()...)
		d, err := G.Grad(ops.Sum(b, ops.Mul(b, y, cot)), in)
		if err != nil {
			b.Fail(err)
			return nil
		}
		return []*G.Node{y, d[0]}
	})
	if len(names) < len(r.Weights) {
		t.Fatalf("variables %v for %d weights of Keras", names, len(r.Weights))
	}
	for i, w := range r.Weights {
		name := names[len(names)-len(r.Weights)+i]
		p.Variables[name] = modeltest.Tensor(tensor.Float64, w.Values, w.Shape...)
	}
	cot := make([]float64, len(r.Y))
	for i := range cot {
		cot[i] = math.Cos(float64(i))
	}
	mask := tensor.New(tensor.Bool, r.Shape[:2]...)
	for i, m := range r.Mask {
		tensor.Values[bool](mask)[i] = m == 1
	}
	return p.Host(t, r.Shape[0], x, mask, modeltest.Tensor(tensor.Float64, cot, r.Out...))
}
