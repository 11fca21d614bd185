package networks_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// feature adds one input of the given type and dimensions after the batch.
func feature(b *models.Builder, name string, d tensor.DType, dims ...int) models.Feature {
	return models.Feature{Name: name, Dense: b.Input(name, d, append([]int{b.Batch()}, dims...)...)}
}

func TestShapesAndSizes(t *testing.T) {
	cases := []struct {
		name      string
		params    map[string]any
		dims      []int
		variables int
		trainable int // numbers
	}{
		{"linear", nil, []int{4}, 2, 4*10 + 10},
		{"mlp", nil, []int{28, 28, 1}, 6, 535818},
		{"mlp", map[string]any{"hidden_units": []any{}}, []int{4}, 2, 50},
		{"cnn", nil, []int{28, 28}, 8, 421642},
		{"cnn", map[string]any{"batch_norm": true, "dense_units": "16", "filters": []int{4}}, []int{8, 8, 3}, 9, 3*9*4 + 8 + 64*16 + 16 + 170},
		{"resnet20", nil, []int{32, 32, 3}, 19*5 + 2, 269722},
		{"mobilenet_v2", nil, []int{32, 32, 3}, 52*5 + 2, 2236682},
		{"transformer_classifier", map[string]any{"layers": 1, "width": 8, "heads": 2, "padding": 0}, []int{5}, 1 + 16 + 2 + 2, 256*8 + 8*8*4 + 8*4 + 8*32*2 + 32 + 8 + 16*3 + 8*10 + 10},
		{"resnet50", nil, []int{64, 64, 3}, 53*5 + 2, 23528522}, // PyTorch's, with 10 classes
		{"text_cnn", map[string]any{"width": 8, "filters": 4, "padding": 0}, []int{5}, 1 + 3*2 + 2, 256*8 + 8*4*(3+4+5) + 3*4 + 12*10 + 10},
		{"lstm_classifier", map[string]any{"width": 8, "units": 4, "layers": 2}, []int{5}, 1 + 4*3 + 2, 256*8 + 4*4*2*((8+4+1)+(8+4+1)) + 8*10 + 10},
		{"autoencoder", map[string]any{"hidden_units": 8, "code": 3, "variational": true}, []int{10}, 10, 10*8 + 8 + 2*(8*3+3) + 3*8 + 8 + 8*10 + 10},
		{"dcn", map[string]any{"hidden_units": 8, "cross_layers": 2}, []int{4}, 2*2 + 2 + 2, 2*(16+4) + 4*8 + 8 + 12*10 + 10},
		{"sound_cnn", map[string]any{"window": 16, "mels": 8, "filters": []int{4}, "dense_units": 16}, []int{64, 2}, 6, 9*4 + 4 + 4*4*16 + 16 + 170},
		{"gpt", map[string]any{"layers": 1, "width": 8, "heads": 2, "kv_heads": 1, "positions": "rotary", "normalization": "rms", "gated": true, "mlp_ratio": 2}, []int{6},
			1 + 16 + 1, 10*8 + 8*8*2 + 8*2 + 8*4*2 + 4*2 + 3*8*16 + 2*16 + 8 + 8*3},
		{"gpt", map[string]any{"layers": 1, "width": 8, "heads": 2}, []int{6}, 2 + 16 + 2, 10*8 + 6*8 + 8*8*4 + 8*4 + 8*32*2 + 32 + 8 + 16*3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			net, err := networks.New(c.name, c.params)
			if err != nil {
				t.Fatal(err)
			}
			b, err := models.Build(models.Options{Batch: 5, Mode: models.Train}, func(b *models.Builder) error {
				y := net(b, models.NewFeatures(b, feature(b, "x", tensor.Uint8, c.dims...)), 10)
				if y != nil && !slices.Equal(y.Shape(), []int{5, 10}) {
					t.Errorf("logits have shape %v", y.Shape())
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, v := range b.TrainableVariables() {
				n += tensor.NumElements(v.Shape)
			}
			if len(b.Variables()) != c.variables || n != c.trainable {
				t.Errorf("%d variables, %d trainable numbers: want %d, %d", len(b.Variables()), n, c.variables, c.trainable)
			}
		})
	}
}

// network returns a small network of each kind for numeric tests.
var small = []struct {
	name   string
	params map[string]any
	dims   []int
}{
	{"linear", map[string]any{"l1": 0.01, "l2": 0.02}, []int{5}},
	{"mlp", map[string]any{"hidden_units": "6,5", "activation": "tanh", "l2": 0.01}, []int{5}},
	{"cnn", map[string]any{"filters": []any{3, 2}, "dense_units": 4, "activation": "softplus"}, []int{6, 6, 2}},
	{"cnn", map[string]any{"filters": []any{3}, "dense_units": 4, "activation": "tanh", "batch_norm": true}, []int{4, 4, 1}},
	{"resnet20", map[string]any{"blocks": 1, "width": 2}, []int{8, 8, 3}},
	{"transformer_classifier", map[string]any{"layers": 1, "width": 4, "heads": 2, "dropout": 0.2}, []int{5, 3}},
	{"transformer_classifier", map[string]any{"layers": 1, "width": 8, "heads": 4, "kv_heads": 2, "positions": "rotary", "normalization": "rms", "gated": true, "dropout": 0}, []int{5, 3}},
	{"resnet50", map[string]any{"blocks": []int{1, 2}, "width": 2}, []int{16, 16, 3}},
	{"text_cnn", map[string]any{"width": 4, "filters": 3, "sizes": 2, "dropout": 0}, []int{5, 3}},
	{"lstm_classifier", map[string]any{"width": 4, "units": 3, "layers": 2}, []int{5, 3}},
	{"autoencoder", map[string]any{"hidden_units": 4, "code": 2, "variational": true, "activation": "tanh"}, []int{5}},
	{"dcn", map[string]any{"hidden_units": 4, "cross_layers": 2, "activation": "tanh"}, []int{5}},
	{"sound_cnn", map[string]any{"window": 8, "mels": 3, "filters": 2, "dense_units": 3, "activation": "tanh"}, []int{27, 2}},
}

// TestGradientsOfNetworks compares the derivative of the whole loss along a
// random direction of all variables with a central difference of the engine's own loss.
func TestGradientsOfNetworks(t *testing.T) {
	for _, c := range small {
		t.Run(fmt.Sprint(c.name, c.params), func(t *testing.T) {
			net, err := networks.New(c.name, c.params)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			p := modeltest.New(t, models.Options{Mode: models.Train, DType: tensor.Float64, Seed: 4}, func(b *models.Builder) []*G.Node {
				y := net(b, models.NewFeatures(b, feature(b, "x", tensor.Float64, c.dims...)), 3)
				loss := losses.SparseSoftmaxCrossEntropy(b, b.Input("labels", tensor.Int64, b.Batch()), y, losses.Options{})
				for _, l := range b.RegularizationLosses() {
					loss = ops.Add(b, loss, l)
				}
				var wrt []*G.Node
				names = nil
				for _, v := range b.TrainableVariables() {
					wrt, names = append(wrt, v.Node), append(names, v.Name)
				}
				if b.Failed() {
					return nil
				}
				grads, err := G.Grad(loss, wrt...)
				b.Fail(err)
				return append([]*G.Node{loss}, grads...)
			})
			r := rand.New(rand.NewPCG(5, 6))
			x := tensor.New(tensor.Float64, append([]int{4}, c.dims...)...)
			for i := range tensor.Values[float64](x) {
				tensor.Values[float64](x)[i] = r.Float64()*2 - 1
			}
			feeds := []*tensor.Tensor{x, modeltest.Tensor(tensor.Int64, []float64{0, 1, 2, 1}, 4)}
			direction := map[string][]float64{}
			slope := 0.0
			for i, g := range p.Host(t, 4, feeds...)[1:] {
				for _, v := range modeltest.Floats(g) {
					d := r.NormFloat64()
					direction[names[i]] = append(direction[names[i]], d)
					slope += d * v
				}
			}
			move := func(h float64) float64 {
				for name, d := range direction {
					for i := range d {
						tensor.Values[float64](p.Variables[name])[i] += h * d[i]
					}
				}
				return modeltest.Floats(p.Host(t, 4, feeds...)[0])[0]
			}
			const h = 1e-6
			up := move(h)
			want := (up - move(-2*h)) / (2 * h)
			if math.Abs(want-slope) > 1e-5*math.Max(1, math.Abs(want)) {
				t.Errorf("derivative %v, central difference %v", slope, want)
			}
		})
	}
}

// Bytes are scaled to 0..1; several features are concatenated in order.
func TestFeatures(t *testing.T) {
	net, err := networks.New("linear", nil)
	if err != nil {
		t.Fatal(err)
	}
	p := modeltest.New(t, models.Options{Mode: models.Predict}, func(b *models.Builder) []*G.Node {
		return []*G.Node{net(b, models.NewFeatures(b, feature(b, "bytes", tensor.Uint8, 1), feature(b, "number", tensor.Int64)), 1)}
	})
	p.Variables["dense/kernel"] = modeltest.Tensor(tensor.Float32, []float64{1, 100}, 2, 1)
	got := modeltest.Floats(p.Host(t, 2, modeltest.Tensor(tensor.Uint8, []float64{255, 51}, 2, 1), modeltest.Tensor(tensor.Int64, []float64{3, 4}, 2))[0])
	if math.Abs(got[0]-301) > 1e-4 || math.Abs(got[1]-400.2) > 1e-4 {
		t.Errorf("got %v, want [301 400.2]", got)
	}
}

func TestWrongFeaturesAreNamed(t *testing.T) {
	cases := []struct {
		net, want string
		features  func(b *models.Builder) []models.Feature
	}{
		{"mlp", "no features", func(b *models.Builder) []models.Feature { return nil }},
		{"mlp", "feature s is text", func(b *models.Builder) []models.Feature { return []models.Feature{feature(b, "s", tensor.String)} }},
		{"mlp", "feature r is ragged", func(b *models.Builder) []models.Feature {
			return []models.Feature{{Name: "r", Ragged: &models.Ragged{}}}
		}},
		{"cnn", "takes one image: the input has the features a, b", func(b *models.Builder) []models.Feature {
			return []models.Feature{feature(b, "a", tensor.Uint8, 8, 8), feature(b, "b", tensor.Uint8, 8, 8)}
		}},
		{"unet", "expected a multiple of 64 pixels", func(b *models.Builder) []models.Feature {
			return []models.Feature{feature(b, "image", tensor.Uint8, 8, 8)}
		}},
		{"text_cnn", "takes one sequence: the input has 2 features", func(b *models.Builder) []models.Feature {
			return []models.Feature{feature(b, "a", tensor.Int32, 8), feature(b, "b", tensor.Int32, 8)}
		}},
		{"lstm_classifier", "expected integer ids [batch, length]", func(b *models.Builder) []models.Feature {
			return []models.Feature{feature(b, "a", tensor.Float32, 8)}
		}},
		{"resnet20", "feature flat has shape (3, 9): expected an image", func(b *models.Builder) []models.Feature {
			return []models.Feature{feature(b, "flat", tensor.Float32, 9)}
		}},
	}
	for _, c := range cases {
		net, err := networks.New(c.net, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = models.Build(models.Options{Batch: 3}, func(b *models.Builder) error {
			net(b, models.NewFeatures(b, c.features(b)...), 2)
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.net, err, c.want)
		}
	}
}

func TestParameters(t *testing.T) {
	good := []map[string]any{
		nil, {"hidden_units": []any{64, 32.0, "16"}}, {"hidden_units": 64}, {"hidden_units": "64, 32"}, {"hidden_units": "[64,32]"},
		{"dropout": "0.5"}, {"dropout": 0}, {"activation": "gelu"}, {"l2": 1e-4, "dropout": nil},
	}
	for _, p := range good {
		if _, err := networks.New("mlp", p); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
	bad := map[string]map[string]any{
		"unknown parameter hiden_units: known are activation, dropout, hidden_units, l2": {"hiden_units": 3},
		"hidden_units: expected a list of integers >= 1, got [0]":                        {"hidden_units": []any{0}},
		"hidden_units: expected a list of integers >= 1, got true":                       {"hidden_units": true},
		"hidden_units: expected a list of integers >= 1, got 1.5":                        {"hidden_units": 1.5},
		"dropout: expected a number >= 0 and < 1, got 1":                                 {"dropout": 1},
		"dropout: expected a number >= 0 and < 1, got NaN":                               {"dropout": math.NaN()},
		"l2: expected a number in 0..1e+06, got much":                                    {"l2": "much"},
		`activation: unknown activation "rleu"`:                                          {"activation": "rleu"},
	}
	for want, p := range bad {
		if _, err := networks.New("mlp", p); err == nil || !strings.Contains(err.Error(), "network mlp: "+want) {
			t.Errorf("%v: got %v, want %q", p, err, want)
		}
	}
	_, err := networks.New("cnn", map[string]any{"batch_norm": "maybe", "depth": 1})
	if err == nil || !strings.Contains(err.Error(), "expected true or false") || !strings.Contains(err.Error(), "unknown parameter depth") {
		t.Errorf("all errors at once: got %v", err)
	}
	keys, err := networks.Keys("linear")
	if err != nil || !slices.Equal(keys, []string{"l1", "l2"}) {
		t.Errorf("keys: %v, %v", keys, err)
	}
}

func TestParametersOfBlocks(t *testing.T) {
	for want, p := range map[string]map[string]any{
		"kv_heads: 3 is no divisor of the 4 heads":          {"kv_heads": 3},
		`positions: "absolute": expected learned or rotary`: {"positions": "absolute"},
		"positions: rotary: heads of width 3":               {"positions": "rotary", "width": 12},
		`normalization: "batch": expected layer or rms`:     {"normalization": "batch"},
		"width: 130 is no multiple of the 4 heads":          {"width": 130},
	} {
		if _, err := networks.New("gpt", p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, expected %q", p, err, want)
		}
	}
}

func TestRegistry(t *testing.T) {
	mine := func(p *networks.Params) networks.Network {
		n := p.Int("n", 1, 1)
		return func(c models.Context, f models.Features, outputs int) *G.Node {
			return ops.Scalar(c, tensor.Float32, float64(n*outputs))
		}
	}
	name := fmt.Sprint("mine", len(networks.Names())) // a new name in every round of -count
	if err := networks.Register(name, mine); err != nil {
		t.Fatal(err)
	}
	if err := networks.Register(name, mine); !errors.Is(err, networks.ErrDuplicate) {
		t.Errorf("got %v", err)
	}
	if err := networks.Register("", mine); err == nil {
		t.Error("a nameless network was registered")
	}
	if _, err := networks.New(name, map[string]any{"n": 2}); err != nil {
		t.Error(err)
	}
	_, err := networks.New("resnet", nil)
	if !errors.Is(err, networks.ErrUnknown) || !strings.Contains(err.Error(), "cnn, dcn, gpt, linear, lstm_classifier, mine") || !strings.Contains(err.Error(), name) {
		t.Errorf("got %v", err)
	}
	if _, err := networks.Keys("resnet"); !errors.Is(err, networks.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

// A network by its name in a config file.
func Example() {
	net, err := networks.New("mlp", map[string]any{"hidden_units": []any{16}, "dropout": 0.1})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = models.Build(models.Options{Batch: 8}, func(b *models.Builder) error {
		features := models.NewFeatures(b, models.Feature{Name: "x", Dense: b.Input("x", tensor.Float32, 8, 4)})
		fmt.Println(net(b, features, 3).Shape())
		return nil
	})
	fmt.Println(err)
	_, err = networks.New("mlp", map[string]any{"layers": 2})
	fmt.Println(err)
	// Output:
	// (8, 3)
	// <nil>
	// network mlp: unknown parameter layers: known are activation, dropout, hidden_units, l2
}

// TestPage: docs/training.md has a row of each network; those of TestRegistry have none.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/training.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := ""
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) == 6 {
			rows += cells[1]
		}
	}
	for _, name := range networks.Names() {
		if !strings.HasPrefix(name, "mine") && !strings.Contains(rows, "`"+name+"`") {
			t.Errorf("docs/training.md has no row of network %s", name)
		}
	}
}
