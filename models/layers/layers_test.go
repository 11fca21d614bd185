package layers_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	G "gorgonia.org/gorgonia"
)

var near = cmpopts.EquateApprox(1e-9, 1e-9)

// Names and shapes are tf.layers'.
func TestVariableNamesAndShapes(t *testing.T) {
	b, err := models.Build(models.Options{Batch: 2, Mode: models.Train}, func(b *models.Builder) error {
		x := b.Input("x", tensor.Float32, 2, 8, 8, 3)
		for range 2 {
			x = layers.Conv2D(b, x, 4, layers.SquareWindow(3, 1, ops.Same), layers.Weights{})
			x = layers.BatchNorm(b, x, layers.Norm{})
		}
		x = layers.DepthwiseConv2D(b, x, 2, layers.SquareWindow(3, 2, ops.Valid), layers.Weights{NoBias: true})
		x = layers.MaxPool2D(b, x, layers.SquareWindow(2, 1, ops.Valid))
		x = layers.AvgPool2D(b, x, layers.SquareWindow(2, 1, ops.Same))
		x = layers.LayerNorm(b, layers.Flatten(b, x), layers.Norm{})
		x = layers.Dense(b, x, 5, layers.Weights{Activation: ops.Relu})
		layers.Dense(b, x, 5, layers.Weights{Name: "logits", NoBias: true})
		e := layers.Embedding(b, b.Input("ids", tensor.Int64, 2, 3), 10, 4, layers.Weights{})
		if !slices.Equal(e.Shape(), []int{2, 3, 4}) {
			t.Errorf("embedding: %v", e.Shape())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range b.Variables() {
		got = append(got, fmt.Sprint(v.Name, v.Shape, v.Trainable))
	}
	want := []string{
		"conv2d/kernel[3 3 3 4] true", "conv2d/bias[4] true",
		"batch_normalization/gamma[4] true", "batch_normalization/beta[4] true",
		"batch_normalization/moving_mean[4] false", "batch_normalization/moving_variance[4] false",
		"conv2d_1/kernel[3 3 4 4] true", "conv2d_1/bias[4] true",
		"batch_normalization_1/gamma[4] true", "batch_normalization_1/beta[4] true",
		"batch_normalization_1/moving_mean[4] false", "batch_normalization_1/moving_variance[4] false",
		"depthwise_conv2d/depthwise_kernel[3 3 4 2] true",
		"layer_normalization/gamma[32] true", "layer_normalization/beta[32] true",
		"dense/kernel[32 5] true", "dense/bias[5] true", "logits/kernel[5 5] true", "embedding/embeddings[10 4] true",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// run builds a model on one float64 input x and returns the roots' values.
func run(t *testing.T, mode models.Mode, x *tensor.Tensor, vars map[string][]float64, build func(b *models.Builder, x *G.Node) []*G.Node) []*tensor.Tensor {
	t.Helper()
	p := modeltest.New(t, models.Options{Mode: mode, DType: tensor.Float64, Seed: 9}, func(b *models.Builder) []*G.Node {
		return build(b, b.Input("x", tensor.Float64, append([]int{b.Batch()}, x.Shape[1:]...)...))
	})
	for name, v := range vars {
		p.Variables[name] = modeltest.Tensor(tensor.Float64, v, p.Variables[name].Shape...)
	}
	return p.Host(t, x.Shape[0], x)
}

func TestDense(t *testing.T) {
	x := modeltest.Tensor(tensor.Float64, []float64{1, 2, -3, 4}, 2, 2)
	got := run(t, models.Eval, x, map[string][]float64{"dense/kernel": {1, 0, 2, 0, 1, -1}, "dense/bias": {0.5, 0, 0}},
		func(b *models.Builder, x *G.Node) []*G.Node {
			return []*G.Node{layers.Dense(b, x, 3, layers.Weights{Activation: ops.Relu})}
		})
	if d := cmp.Diff([]float64{1.5, 2, 0, 0, 4, 0}, modeltest.Floats(got[0]), near); d != "" {
		t.Error(d)
	}
}

func TestDenseOnRank3(t *testing.T) {
	x := modeltest.Tensor(tensor.Float64, []float64{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2)
	got := run(t, models.Eval, x, map[string][]float64{"dense/kernel": {1, 10}}, func(b *models.Builder, x *G.Node) []*G.Node {
		return []*G.Node{layers.Dense(b, x, 1, layers.Weights{NoBias: true})}
	})
	if d := cmp.Diff([]float64{21, 43, 65, 87}, modeltest.Floats(got[0]), near); d != "" || len(got[0].Shape) != 3 {
		t.Error(d, got[0].Shape)
	}
}

func TestGlobalPools(t *testing.T) {
	x := modeltest.Tensor(tensor.Float64, []float64{1, 10, 2, 20, 3, 30, 6, 0}, 1, 2, 2, 2)
	got := run(t, models.Eval, x, nil, func(b *models.Builder, x *G.Node) []*G.Node {
		return []*G.Node{layers.GlobalAvgPool2D(b, x), layers.GlobalMaxPool2D(b, x)}
	})
	if d := cmp.Diff([][]float64{{3, 15}, {6, 30}}, [][]float64{modeltest.Floats(got[0]), modeltest.Floats(got[1])}, near); d != "" {
		t.Error(d)
	}
}

// batchNorm runs the layer and returns output and new moving averages.
func batchNorm(t *testing.T, mode models.Mode, x *tensor.Tensor) [][]float64 {
	out := run(t, mode, x, map[string][]float64{
		"batch_normalization/gamma": {2, 1}, "batch_normalization/beta": {0, 1},
		"batch_normalization/moving_mean": {1, 2}, "batch_normalization/moving_variance": {4, 9},
	}, func(b *models.Builder, x *G.Node) []*G.Node {
		roots := []*G.Node{layers.BatchNorm(b, x, layers.Norm{Momentum: 0.9})}
		for _, u := range b.Updates() {
			roots = append(roots, u.Value)
		}
		return roots
	})
	var got [][]float64
	for _, v := range out {
		got = append(got, modeltest.Floats(v))
	}
	return got
}

func TestBatchNorm(t *testing.T) {
	data := []float64{1, 5, 2, 6, 4, 10, 5, 3}
	mean, variance := []float64{3, 6}, []float64{2.5, 6.5}
	norm := func(mean, variance []float64, eps float64) []float64 {
		gamma, beta, y := []float64{2, 1}, []float64{0, 1}, make([]float64, len(data))
		for i, v := range data {
			k := i % 2
			y[i] = (v-mean[k])/math.Sqrt(variance[k]+eps)*gamma[k] + beta[k]
		}
		return y
	}
	cases := []struct {
		name   string
		shape  []int
		eps    float64
		bessel float64 // of the moving variance
	}{{"fused", []int{2, 1, 2, 2}, float64(float32(1e-3)), 4.0 / 3}, {"composed", []int{4, 2}, 1e-3, 1}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := modeltest.Tensor(tensor.Float64, data, c.shape...)
			want := [][]float64{norm(mean, variance, c.eps),
				{1*0.9 + 3*0.1, 2*0.9 + 6*0.1}, {4*0.9 + 2.5*c.bessel*0.1, 9*0.9 + 6.5*c.bessel*0.1}}
			if d := cmp.Diff(want, batchNorm(t, models.Train, x), near); d != "" {
				t.Errorf("train: %s", d)
			}
			want = [][]float64{norm([]float64{1, 2}, []float64{4, 9}, c.eps)}
			if d := cmp.Diff(want, batchNorm(t, models.Eval, x), near); d != "" {
				t.Errorf("eval (no updates): %s", d)
			}
		})
	}
}

// TestFrozenBatchNorm: if the moving averages are frozen, training normalises by them and changes nothing.
func TestFrozenBatchNorm(t *testing.T) {
	data := []float64{1, 5, 2, 6, 4, 10, 5, 3}
	for _, shape := range [][]int{{2, 1, 2, 2}, {4, 2}, {2, 2, 2}} {
		x := modeltest.Tensor(tensor.Float64, data, shape...)
		vars := map[string][]float64{"batch_normalization/moving_mean": {1, 2}, "batch_normalization/moving_variance": {4, 9}}
		build := func(freeze bool) func(b *models.Builder, x *G.Node) []*G.Node {
			return func(b *models.Builder, x *G.Node) (roots []*G.Node) {
				norm := func() { roots = append(roots, layers.BatchNorm(b, x, layers.Norm{})) }
				if freeze {
					b.Frozen(norm)
				} else {
					norm()
				}
				if freeze && len(b.Updates()) > 0 {
					t.Errorf("%v: %d updates of a frozen layer", shape, len(b.Updates()))
				}
				return roots
			}
		}
		got := modeltest.Floats(run(t, models.Train, x, vars, build(true))[0])
		if d := cmp.Diff(modeltest.Floats(run(t, models.Eval, x, vars, build(false))[0]), got, near); d != "" {
			t.Errorf("%v: frozen in training, evaluated: %s", shape, d)
		}
		if d := cmp.Diff(modeltest.Floats(run(t, models.Train, x, vars, build(false))[0]), got, near); d == "" {
			t.Errorf("%v: the frozen layer normalises by the batch", shape)
		}
	}
}

func TestLayerNorm(t *testing.T) {
	x := modeltest.Tensor(tensor.Float64, []float64{1, 3, 10, 14}, 2, 2)
	got := run(t, models.Eval, x, nil, func(b *models.Builder, x *G.Node) []*G.Node {
		return []*G.Node{layers.LayerNorm(b, x, layers.Norm{})}
	})
	a, b := 1/math.Sqrt(1.001), 2/math.Sqrt(4.001)
	if d := cmp.Diff([]float64{-a, a, -b, b}, modeltest.Floats(got[0]), near); d != "" {
		t.Error(d)
	}
}

func TestDropout(t *testing.T) {
	x := modeltest.Tensor(tensor.Float64, make([]float64, 4000), 1000, 4)
	for i := range 4000 {
		tensor.Values[float64](x)[i] = 1
	}
	drop := func(mode models.Mode) []float64 {
		return modeltest.Floats(run(t, mode, x, nil, func(b *models.Builder, x *G.Node) []*G.Node {
			return []*G.Node{layers.Dropout(b, x, 0.25)}
		})[0])
	}
	kept := 0
	for _, v := range drop(models.Train) {
		if v != 0 {
			kept++
			if math.Abs(v-4.0/3) > 1e-12 {
				t.Fatalf("kept value is %v, want 4/3", v)
			}
		}
	}
	// 3000 expected; five standard deviations are 137.
	if kept < 2863 || kept > 3137 {
		t.Errorf("%d of 4000 values were kept, want about 3000", kept)
	}
	if d := cmp.Diff(drop(models.Train), drop(models.Train)); d != "" {
		t.Error("two runs of the same step differ")
	}
	for _, v := range drop(models.Eval) {
		if v != 1 {
			t.Fatal("values are dropped in Eval")
		}
	}
}

// The dropped elements do not depend on the order of building, but on step and
// name.
func TestDropoutDependsOnNameAndStep(t *testing.T) {
	masks := func(swap bool, step int64) [2]string {
		p := modeltest.New(t, models.Options{Mode: models.Train}, func(b *models.Builder) []*G.Node {
			x := b.Input("x", tensor.Float32, b.Batch(), 64)
			drop := func(name string) (y *G.Node) {
				b.Scope(name, func() { y = layers.Dropout(b, x, 0.5) })
				return y
			}
			if swap {
				second := drop("b")
				return []*G.Node{drop("a"), second}
			}
			return []*G.Node{drop("a"), drop("b")}
		})
		ones := modeltest.Tensor(tensor.Float32, slicesOf(64, 1), 1, 64)
		out := runAt(t, p, step, ones)
		return [2]string{fmt.Sprint(modeltest.Floats(out[0])), fmt.Sprint(modeltest.Floats(out[1]))}
	}
	first := masks(false, 0)
	if first[0] == first[1] {
		t.Error("two layers drop the same values")
	}
	if masks(true, 0) != first {
		t.Error("the order of building matters")
	}
	if next := masks(false, 1); next[0] == first[0] {
		t.Error("two steps drop the same values")
	}
}

func slicesOf(n int, v float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func TestRegularizers(t *testing.T) {
	x := modeltest.Tensor(tensor.Float64, []float64{0}, 1, 1)
	got := run(t, models.Train, x, map[string][]float64{"w": {1, -2, 3}}, func(b *models.Builder, x *G.Node) []*G.Node {
		w := b.Variable("w", []int{3})
		for _, r := range []models.Regularizer{layers.L1(0.5), layers.L2(0.1), layers.L1L2(0.5, 0.1)} {
			b.AddLoss(r(b, w))
		}
		if layers.L1L2(0, 0)(b, w) != nil {
			t.Error("no penalty, but a node")
		}
		grads, err := G.Grad(b.RegularizationLosses()[2], w)
		b.Fail(err)
		return append(b.RegularizationLosses(), grads...)
	})
	want := [][]float64{{3}, {1.4}, {4.4}, {0.5 + 0.2, -0.5 - 0.4, 0.5 + 0.6}}
	for i, w := range want {
		if d := cmp.Diff(w, modeltest.Floats(got[i]), near); d != "" {
			t.Errorf("%d: %s", i, d)
		}
	}
}

func TestActivationByName(t *testing.T) {
	for _, name := range []string{"", "linear", "relu", "relu6", "leaky_relu", "elu", "selu", "gelu", "gelu_tanh", "tanh", "sigmoid", "softplus", "softsign", "swish", "silu", "softmax", "log_softmax", "exponential"} {
		a, err := layers.ActivationByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := models.Build(models.Options{Batch: 1}, func(b *models.Builder) error {
			if x := b.Input("x", tensor.Float32, 1, 3); !a(b, x).Shape().Eq(x.Shape()) || layers.Activate(b, x, name) == nil {
				t.Errorf("%s changes the shape", name)
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := layers.ActivationByName("rleu"); err == nil || !strings.Contains(err.Error(), `unknown activation "rleu": expected one of`) || !strings.Contains(err.Error(), "relu6") {
		t.Errorf("got %v", err)
	}
}

func TestWrongUsesAreNamed(t *testing.T) {
	cases := []struct {
		want string
		use  func(b *models.Builder, x *G.Node)
	}{
		{"dense: units is 0", func(b *models.Builder, x *G.Node) { layers.Dense(b, x, 0, layers.Weights{}) }},
		{"dense: the input is nil", func(b *models.Builder, x *G.Node) { layers.Dense(b, nil, 1, layers.Weights{}) }},
		{"conv2d: the input has shape (2, 3): expected rank [4]", func(b *models.Builder, x *G.Node) {
			layers.Conv2D(b, x, 1, layers.SquareWindow(3, 1, ops.Same), layers.Weights{})
		}},
		{"max_pooling2d: the input", func(b *models.Builder, x *G.Node) { layers.MaxPool2D(b, x, layers.SquareWindow(2, 2, ops.Same)) }},
		{"dropout: rate -1", func(b *models.Builder, x *G.Node) { layers.Dropout(b, x, -1) }},
		{"embedding: GatherV2: indices are float32", func(b *models.Builder, x *G.Node) { layers.Embedding(b, x, 2, 2, layers.Weights{}) }},
		{"logits: variable logits/kernel already exists", func(b *models.Builder, x *G.Node) {
			layers.Dense(b, layers.Dense(b, x, 3, layers.Weights{Name: "logits"}), 3, layers.Weights{Name: "logits"})
		}},
		{"unknown activation", func(b *models.Builder, x *G.Node) { layers.Activate(b, x, "none") }},
	}
	for _, c := range cases {
		_, err := models.Build(models.Options{Batch: 2, Mode: models.Train}, func(b *models.Builder) error {
			c.use(b, b.Input("x", tensor.Float32, 2, 3))
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
	}
}

func runAt(t *testing.T, p *modeltest.Program, step int64, feeds ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	return p.Run(t, device.NewHost(), feeds[0].Shape[0], step, feeds...)
}
