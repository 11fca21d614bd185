package ops_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/attention"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// tensorJSON is a tensor for the script in testdata.
type tensorJSON struct {
	Name  string    `json:"name"`
	DType string    `json:"dtype"`
	Shape []int     `json:"shape"`
	Data  []float64 `json:"data"`
}

type caseJSON struct {
	Name     string       `json:"name"`
	Graph    string       `json:"graph"`
	Feeds    []tensorJSON `json:"feeds"`
	Fetches  []string     `json:"fetches"`
	Expected []tensorJSON `json:"expected"`
}

// TestTensorFlowAgrees runs every case, gradients included, in TensorFlow
// itself. GOESTIMATOR_TENSORFLOW names a Python that has it.
func TestTensorFlowAgrees(t *testing.T) {
	python := os.Getenv("GOESTIMATOR_TENSORFLOW")
	if python == "" {
		t.Skip("skipped: set GOESTIMATOR_TENSORFLOW to a Python interpreter with tensorflow")
	}
	dir := t.TempDir()
	var list []caseJSON
	// The exact random numbers, which the contract test does not check.
	random := []opCase{
		{fn: "Attention", detail: "dropout", in: []operand{batch(5, 2, 4), batch(7, 1, 4), batch(7, 1, 3)}, build: func(c models.Context, in []*G.Node) *G.Node {
			return ops.Mul(c, ops.Attention(c, in[0], in[1], in[2], ops.Attending{Causal: true, Dropout: 0.4}), ops.Scalar(c, models.GraphType(in[0].Dtype()), 1))
		}},
		{fn: "RandomUniform", detail: "numbers", in: []operand{batch(7)}, noGrad: true, build: first(ops.RandomUniform)},
		{fn: "RandomUniformIn", detail: "numbers", in: []operand{batch(7)}, noGrad: true, build: first(func(c models.Context, x *G.Node) *G.Node { return ops.RandomUniformIn(c, x, -1, 2) })},
		{fn: "RandomNormal", detail: "numbers", in: []operand{batch(7)}, noGrad: true, build: first(func(c models.Context, x *G.Node) *G.Node { return ops.RandomNormal(c, x, 1, 2) })},
		{fn: "TruncatedNormal", detail: "numbers", in: []operand{batch(7)}, noGrad: true, build: first(func(c models.Context, x *G.Node) *G.Node { return ops.TruncatedNormal(c, x, 1, 2) })},
		{fn: "RandomInts", detail: "numbers", in: []operand{batch(7)}, noGrad: true, build: first(func(c models.Context, x *G.Node) *G.Node { return ops.RandomInts(c, x, -3, 9, tensor.Int32) })},
		{fn: "RandomInts", detail: "wide numbers", in: []operand{batch(7)}, noGrad: true, build: first(func(c models.Context, x *G.Node) *G.Node { return ops.RandomInts(c, x, -3, 9, tensor.Int64) })},
		{fn: "Dropout", in: []operand{batch(9)}, build: func(c models.Context, in []*G.Node) *G.Node { return ops.Dropout(c, in[0], 0.4) }},
	}
	for i, c := range append(cases(), random...) {
		list = append(list, c.export(t, dir, fmt.Sprintf("%d.pb", i)))
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cases.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "testdata/check.py", dir)
	cmd.Env = append(os.Environ(), "TF_CPP_MIN_LOG_LEVEL=3", "CUDA_VISIBLE_DEVICES=")
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "done 0") {
		t.Errorf("%v\n%s", err, out)
	}
}

// export writes the graph and returns what it computes here, in float32.
func (c opCase) export(t *testing.T, dir, file string) caseJSON {
	t.Helper()
	const rows = 3
	c.noGrad = c.noGrad || c.ours
	in := c.values(rows)
	p := c.program(t, tensor.Float32)
	cot := zeros(p.Graph.Node("cot").Outputs[0].Shape.At(rows)...)
	for i := range cot.data {
		cot.data[i] = float64(i%3) - 0.5
	}
	got := c.run(t, p, device.NewHost(), tensor.Float32, in, cot)
	b := graph.NewBuilder(p.Graph)
	if err := attention.Expand(b); err != nil {
		t.Fatal(err)
	}
	data, err := graphdef.Marshal(p.Graph)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
		t.Fatal(err)
	}
	out := caseJSON{Name: c.name(), Graph: file, Feeds: []tensorJSON{{"global_step", "int64", []int{}, []float64{5}}}}
	for i, a := range append(in, cot) {
		name := fmt.Sprintf("in%d", i)
		if i == len(in) {
			name = "cot"
		}
		d := p.Graph.Node(name).Outputs[0].DType
		exact := modeltest.Floats(modeltest.Tensor(d, a.data, a.shape...))
		out.Feeds = append(out.Feeds, tensorJSON{name, d.String(), a.shape, exact})
	}
	for i, r := range p.Roots() {
		out.Fetches = append(out.Fetches, r.String())
		out.Expected = append(out.Expected, tensorJSON{Shape: append([]int{}, got[i].shape...), Data: got[i].data})
	}
	return out
}
