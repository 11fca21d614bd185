package interop_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/tensor"
)

var record = flag.Bool("record", false, "write PyTorch's losses to testdata/losses.json")

const (
	paritySteps = 100
	parityBatch = 32
)

// parityCases are the optimizers to compare, and the activation of the network.
//
// Adam moves a weight by about its rate even if the gradient is tiny. Where relu starts,
// rounding decides whether an example activates a unit, and one such unit changes a float32 run
// by percents: even PyTorch's own float32 and float64 losses differ. So relu is compared
// in float64, and float32 with tanh, which is smooth.
var parityCases = []parityCase{
	{"sgd", "relu", map[string]float64{"mlp": 0.05, "cnn": 0.005}, true},
	{"momentum", "relu", map[string]float64{"mlp": 0.02, "cnn": 0.002}, true},
	{"adam", "relu", map[string]float64{"mlp": 0.001, "cnn": 0.0002}, false},
	{"adam", "tanh", map[string]float64{"mlp": 0.001, "cnn": 0.0002}, true},
	{"adamw", "relu", map[string]float64{"mlp": 0.001, "cnn": 0.0002}, false},
	{"adamw", "tanh", map[string]float64{"mlp": 0.001, "cnn": 0.0002}, true},
}

type parityCase struct {
	rule, activation string
	rates            map[string]float64 // by network, low enough that training does not amplify rounding
	single           bool               // float32 must agree too
}

func (c parityCase) name() string { return c.rule + "/" + c.activation }

// compare compares the losses in both float types with double and single.
func (c parityCase) compare(t *testing.T, p *parity, double, single []float64) {
	t.Helper()
	within(t, "float64", p.losses(t, c, "float64"), double, 1e-9)
	tolerance := 1e-4
	if !c.single {
		tolerance = 10
	}
	within(t, "float32", p.losses(t, c, "float32"), single, tolerance)
}

// recorded are PyTorch's losses in float64, by network, rule and activation.
type recorded map[string]map[string][]float64

const recordedLosses = "testdata/losses.json"

func readRecorded(t *testing.T) recorded {
	t.Helper()
	b, err := os.ReadFile(recordedLosses)
	if err != nil {
		t.Fatal(err)
	}
	var r recorded
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// Without PyTorch: 100 steps of the mlp from the same weights and batches give
// PyTorch's recorded losses, in float64 to 1e-9 and in float32 to 1e-4.
func TestParityWithRecordedLosses(t *testing.T) {
	if *record {
		t.Skip("skipped: recording")
	}
	want := readRecorded(t)["mlp"]
	p := newParity(t, "mlp")
	for _, c := range parityCases {
		t.Run(c.name(), func(t *testing.T) { c.compare(t, p, want[c.name()], want[c.name()]) })
	}
}

// With PyTorch: 100 steps of mlp and cnn from the same weights and batches. PyTorch must
// also reproduce the recorded losses.
func TestParityWithPyTorch(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: takes minutes (GOESTIMATOR_ACCEPT=1); the recorded losses are compared always")
	}
	py := torch(t)
	kept := recorded{}
	for _, network := range []string{"mlp", "cnn"} {
		p := newParity(t, network)
		dir := save(t, filepath.Join(t.TempDir(), "given"), p.given())
		for _, c := range parityCases {
			t.Run(network+"/"+c.name(), func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "losses")
				py.run(t, "train_torch.py", network, c.rule, c.activation, fmt.Sprint(c.rates[network]), dir, out)
				want := load(t, out)
				single, double := tensor.Values[float64](want["float32"]), tensor.Values[float64](want["float64"])
				if kept[network] == nil {
					kept[network] = map[string][]float64{}
				}
				kept[network][c.name()] = double
				within(t, "PyTorch itself, float32 to float64", single, double, 10)
				c.compare(t, p, double, single)
			})
		}
	}
	if *record {
		b, err := json.Marshal(recorded{"mlp": kept["mlp"]})
		if err != nil {
			t.Fatal(err)
		}
		write(t, recordedLosses, append(b, '\n'))
		return
	}
	for rule, losses := range readRecorded(t)["mlp"] {
		if kept["mlp"][rule] == nil {
			continue // not selected by -run
		}
		within(t, "recorded losses of "+rule, losses, kept["mlp"][rule], 1e-9)
	}
}

// parity is a network with initial weights and batches.
type parity struct {
	network string
	data    data
	weights map[string]*tensor.Tensor // float32
	start   map[string]string         // checkpoints of the weights, by precision
}

// newParity makes data and weights with only integer arithmetic and exact products,
// so that they are the same on every machine.
func newParity(t *testing.T, network string) *parity {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 13))
	p := &parity{network: network, data: prototypes(r, paritySteps*parityBatch), weights: map[string]*tensor.Tensor{}, start: map[string]string{}}
	layers := []struct {
		name  string
		shape []int
	}{{"dense", []int{784, 512}}, {"dense_1", []int{512, 256}}, {"dense_2", []int{256, 10}}}
	if network == "cnn" {
		layers[0].name, layers[0].shape = "conv2d", []int{3, 3, 1, 32}
		layers[1].name, layers[1].shape = "conv2d_1", []int{3, 3, 32, 64}
		layers[2].name, layers[2].shape = "dense", []int{7 * 7 * 64, 128}
		layers = append(layers, layers[2])
		layers[3].name, layers[3].shape = "dense_1", []int{128, 10}
	}
	gain := 1.0
	if network == "cnn" {
		gain = 2
		for i := range p.data.images.Bytes {
			p.data.images.Bytes[i] /= 4
		}
	}
	for _, l := range layers {
		last := len(l.shape) - 1
		p.weights[l.name+"/kernel"] = uniform(r, gain/float64(power2(tensor.NumElements(l.shape[:last]))), l.shape...)
		p.weights[l.name+"/bias"] = uniform(r, 1./16, l.shape[last])
	}
	for precision, d := range map[string]tensor.DType{"float32": tensor.Float32, "float64": tensor.Float64} {
		p.start[precision] = p.checkpoint(t, d)
	}
	return p
}

// power2 is roughly the root of a unit's number of inputs, as a power of 2.
func power2(fan int) int {
	n := 1
	for n*n*2 < fan {
		n *= 2
	}
	return n
}

// uniform draws multiples of scale/2^20 in -scale..scale, exact in float32.
func uniform(r *rand.Rand, scale float64, shape ...int) *tensor.Tensor {
	x := tensor.New(tensor.Float32, shape...)
	for i := range tensor.Values[float32](x) {
		tensor.Values[float32](x)[i] = float32(float64(r.IntN(1<<21)-1<<20) / (1 << 20) * scale)
	}
	return x
}

// prototypes are n images in ten classes: bright pixels for the class under noise that is
// strong enough for slow learning, so that the loss stays away from 0.
func prototypes(r *rand.Rand, n int) data {
	class := make([]byte, 10*784)
	for i := range class {
		if r.IntN(8) == 0 {
			class[i] = 200
		}
	}
	d := data{tensor.New(tensor.Uint8, n, 28, 28, 1), tensor.New(tensor.Int64, n)}
	for i := range n {
		label := r.IntN(10)
		tensor.Values[int64](d.labels)[i] = int64(label)
		for k := range 784 {
			pixel := class[label*784+k]
			if r.IntN(4) != 0 {
				pixel = byte(r.IntN(256))
			}
			d.images.Bytes[i*784+k] = pixel
		}
	}
	return d
}

// checkpoint writes the weights in a float type, for a warm start.
func (p *parity) checkpoint(t *testing.T, d tensor.DType) string {
	t.Helper()
	tensors := map[string]*tensor.Tensor{}
	for name, w := range p.weights {
		x := tensor.New(d, w.Shape...)
		for i, v := range tensor.Values[float32](w) {
			if d == tensor.Float32 {
				tensor.Values[float32](x)[i] = v
			} else {
				tensor.Values[float64](x)[i] = float64(v)
			}
		}
		tensors[name] = x
	}
	s, err := checkpoint.NewSaver(t.TempDir(), checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := s.Save(t.Context(), checkpoint.Snapshot{Tensors: tensors})
	if err != nil {
		t.Fatal(err)
	}
	return prefix
}

// given is PyTorch's input: weights, images, labels.
func (p *parity) given() map[string]*tensor.Tensor {
	out := p.data.tensors()
	for name, w := range p.weights {
		out[name] = w
	}
	return out
}

// losses trains from the given weights.
func (p *parity) losses(t *testing.T, c parityCase, precision string) []float64 {
	t.Helper()
	j := job{network: p.network, params: map[string]any{"activation": c.activation}, optimizer: c.rule,
		rule: map[string]any{"learning_rate": c.rates[p.network]}, dir: t.TempDir(), precision: precision, warmStart: p.start[precision]}
	return train(t, j.estimator(t), p.data, parityBatch)
}
