package lower_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// imageModel is a network over images with its loss and the gradients of all weights.
type imageModel struct {
	*graph.Graph
	spec      engine.Spec
	names     []string // names of the fetches
	variables map[string]*tensor.Tensor
	feeds     []*tensor.Tensor
}

const imageRows = 4

func newImageModel(t *testing.T, network string, params map[string]any, dims ...int) *imageModel {
	t.Helper()
	net, err := networks.New(network, params)
	if err != nil {
		t.Fatal(err)
	}
	m := &imageModel{Graph: graph.New(), names: []string{"loss"}, variables: map[string]*tensor.Tensor{}}
	var roots []*G.Node
	b, err := models.Build(models.Options{Mode: models.Train, Seed: 4, Batch: imageRows}, func(b *models.Builder) error {
		x := b.Input("x", tensor.Float32, append([]int{imageRows}, dims...)...)
		y := net(b, models.NewFeatures(b, models.Feature{Name: "x", Dense: x}), 3)
		roots = append(roots, losses.SparseSoftmaxCrossEntropy(b, b.Input("labels", tensor.Int64, imageRows), y, losses.Options{}))
		var weights []*G.Node
		for _, v := range b.TrainableVariables() {
			weights, m.names = append(weights, v.Node), append(m.names, v.Name)
		}
		if b.Failed() {
			return nil
		}
		grads, err := G.Grad(roots[0], weights...)
		roots = append(roots, grads...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	m.lower(t, b, roots)
	rng := rand.New(rand.NewPCG(5, 6))
	x, labels := tensor.New(tensor.Float32, append([]int{imageRows}, dims...)...), tensor.New(tensor.Int64, imageRows)
	for i := range tensor.Values[float32](x) {
		tensor.Values[float32](x)[i] = rng.Float32()*2 - 1
	}
	copy(tensor.Values[int64](labels), []int64{0, 1, 2, 1})
	m.feeds = []*tensor.Tensor{tensor.Scalar(int64(0)), x, labels}
	return m
}

// lower makes the engine's graph of a model.
func (m *imageModel) lower(t *testing.T, b *models.Builder, roots []*G.Node) {
	gb := graph.NewBuilder(m.Graph)
	step := gb.Placeholder("global_step", graph.Type{DType: tensor.Int64})
	m.spec.Feeds = []graph.Output{step}
	leaves := map[*G.Node]graph.Output{}
	for _, in := range b.Inputs() {
		f := gb.Placeholder(in.Name, graph.Type{DType: in.DType, Shape: graph.ShapeOf(in.Node.Shape()...)})
		leaves[in.Node], m.spec.Feeds = f, append(m.spec.Feeds, f)
	}
	for _, v := range b.Variables() {
		leaves[v.Node] = gb.Read(gb.Variable(v.Name, graph.TypeOf(v.DType, v.Shape...)), graph.TypeOf(v.DType, v.Shape...))
		m.variables[v.Name] = tensor.New(v.DType, v.Shape...)
		if err := v.Init.Init(m.variables[v.Name], models.Key(4, v.Name)); err != nil {
			t.Fatal(err)
		}
	}
	values, err := lower.Expressions(gb, lower.Options{Seed: 4, GlobalStep: step}, roots, leaves)
	if err := errors.Join(err, gb.Err()); err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		m.spec.Fetches = append(m.spec.Fetches, v.Output)
	}
}

// run runs a step on a device and closes it. It returns the fetches, and the ops that the host did.
func (m *imageModel) run(t *testing.T, dev device.Device, how engine.Precision) (values []*tensor.Tensor, hosted []string) {
	t.Helper()
	vars, err := engine.NewVariables(dev)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range m.variables {
		if err := vars.Create(name, v); err != nil {
			t.Fatal(err)
		}
	}
	p, err := engine.Compile(m.Graph, m.spec, dev, vars, engine.Options{Precision: how})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // the first launches, the second captures, the third replays
		if err := p.Run(t.Context(), imageRows, m.feeds); err != nil {
			t.Fatal(err)
		}
	}
	for i := range m.spec.Fetches {
		values = append(values, p.Value(i).Clone())
	}
	hosted = p.HostSteps()
	if err := errors.Join(p.Close(), vars.Close(), dev.Close()); err != nil {
		t.Fatal(err)
	}
	return values, hosted
}

// emulatedDevice is the whole device, on the processor.
func emulatedDevice(t *testing.T) (*cuda.Device, *fake.Driver) {
	t.Helper()
	if _, err := exec.LookPath(emulate.Compiler); err != nil {
		t.Skipf("skipped: %v", err)
	}
	d := fake.New(fake.Default)
	m, err := emulate.NewMachine(d, emulate.Default())
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := cuda.New(t.Context(), c, cuda.Parts{Name: "emulated GPU", Compiler: m, Arch: 90})
	if errors.Is(err, dylib.ErrNoLoader) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dev, d
}

// TestImageNetworksAreThoseOfTheHost compares losses and gradients of small networks on the emulated device with the host's.
func TestImageNetworksAreThoseOfTheHost(t *testing.T) {
	for _, c := range []struct {
		network string
		params  map[string]any
		dims    []int
	}{
		{"cnn", map[string]any{"filters": []any{3, 2}, "dense_units": 4}, []int{8, 8, 2}},
		{"resnet20", map[string]any{"blocks": 2, "width": 8}, []int{8, 8, 3}},
	} {
		t.Run(c.network, func(t *testing.T) {
			m := newImageModel(t, c.network, c.params, c.dims...)
			want, _ := m.run(t, device.NewHost(), engine.Float32)
			m.check(t, engine.Float32, want, func(int) float64 { return 1e-4 })
			// The effect of rounding on gradients depends on the network, so rounding the weights alone is the measure.
			exact := m.variables
			m.variables = rounded(exact)
			near, _ := m.run(t, device.NewHost(), engine.Float32)
			m.variables = exact
			m.check(t, engine.BF16Mixed, want, func(i int) float64 { return 0.02 + 3*distance(want[i], near[i]) })
		})
	}
}

// check compares a run on the emulated device. tolerance returns the allowed distance of each value.
func (m *imageModel) check(t *testing.T, how engine.Precision, want []*tensor.Tensor, tolerance func(i int) float64) {
	t.Helper()
	dev, d := emulatedDevice(t)
	got, hosted := m.run(t, dev, how)
	if err := d.Leaks(); err != nil {
		t.Error(err)
	}
	for _, s := range hosted {
		if strings.Contains(s, "Conv") || strings.Contains(s, "Pool") || strings.Contains(s, "MatMul") {
			t.Errorf("%v: done on the host: %s", how, s)
		}
	}
	for i, name := range m.names {
		if far := distance(want[i], got[i]); !(far <= tolerance(i)) {
			t.Errorf("%v, %s: expected at most %g, got %g", how, name, tolerance(i), far)
		}
	}
}

// rounded returns the variables rounded to bfloat16.
func rounded(variables map[string]*tensor.Tensor) map[string]*tensor.Tensor {
	all := map[string]*tensor.Tensor{}
	for name, v := range variables {
		all[name] = v.Clone()
		for i, x := range tensor.Values[float32](v) {
			u := math.Float32bits(x)
			tensor.Values[float32](all[name])[i] = math.Float32frombits((u + 0x7fff + u>>16&1) &^ 0xffff)
		}
	}
	return all
}

// distance returns the length of the difference divided by the expected length, or by 1e-3 if that is larger.
func distance(want, got *tensor.Tensor) float64 {
	if !slices.Equal(want.Shape, got.Shape) {
		return math.Inf(1)
	}
	d, n := 0.0, 0.0
	for i := range want.Len() {
		a, b := want.Float(i), got.Float(i)
		d, n = d+(a-b)*(a-b), n+a*a
	}
	return math.Sqrt(d) / max(math.Sqrt(n), 1e-3)
}
