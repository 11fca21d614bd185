package eager

import (
	"errors"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/yggdrasil"
	"github.com/goestimator/goestimator/internal/imported/forest"
	"github.com/goestimator/goestimator/tensor"
)

// TestForestOps: what the ops of decision forests refuse. The session's TestForests covers what they return.
func TestForestOps(t *testing.T) {
	env := &Env{Resources: NewResources()}
	handle, err := Run(t.Context(), &graph.Node{Name: "m", Op: "SimpleMLCreateModelResource"}, nil, env)
	if err != nil {
		t.Fatal(err)
	}
	ask := &graph.Node{Name: "ask", Op: "SimpleMLInferenceOpWithHandle", Attrs: graph.Attrs{"dense_output_dim": int64(1)}}
	leaves := &graph.Node{Name: "leaves", Op: "SimpleMLInferenceLeafIndexOpWithHandle"}
	features := func(columns int, rows ...int64) []Value {
		numbers := tensor.New(tensor.Float32, 2, columns)
		splits, err := tensor.FromSlice(rows, len(rows))
		if err != nil {
			t.Fatal(err)
		}
		return []Value{{T: numbers}, {T: tensor.New(tensor.Float32, 0, 0)}, {T: tensor.New(tensor.Int32, 0, 0)}, {T: tensor.New(tensor.Int32, 0)},
			{T: tensor.New(tensor.Int64, 1)}, {T: splits}, handle[0]}
	}
	refused := func(n *graph.Node, in []Value, want string) {
		t.Helper()
		if _, err := Run(t.Context(), n, in, env); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, errPanic) {
			t.Errorf("%s: got %v, expected %q", n.Op, err, want)
		}
	}
	refused(ask, features(1, 0), "its load op did not run")
	load := &graph.Node{Name: "load", Op: "SimpleMLLoadModelFromPathWithHandle"}
	path, err := tensor.FromStrings([][]byte{[]byte("nowhere")})
	if err != nil {
		t.Fatal(err)
	}
	refused(load, []Value{handle[0], {T: path}}, "may read no files")
	refused(load, []Value{{Resource: &Table{}}, {T: path}}, "expected a model of trees")
	load.Attrs = graph.Attrs{"output_types": [][]byte{[]byte("ROOTS")}}
	refused(load, []Value{handle[0], {T: path}}, "Unknown output types: ROOTS")

	f, err := forest.New(&yggdrasil.Model{Task: yggdrasil.Regression, Boosted: true, Loss: yggdrasil.SquaredError, Initial: []float32{0.5}, Inputs: []int{1},
		Columns: []yggdrasil.Column{{Kind: yggdrasil.Numerical}, {Kind: yggdrasil.Numerical}}}, false)
	if err != nil {
		t.Fatal(err)
	}
	env.Resources.forest("m").loaded.Store(&loadedForest{Forest: f})
	if out, err := Run(t.Context(), ask, features(1, 0), env); err != nil || out[0].T.Float(1) != 0.5 {
		t.Errorf("got %v: %v", out, err)
	}
	refused(ask, features(2, 0), "Unexpected dimension of numerical_features")
	refused(ask, features(1, 0, 1, 2, 3), "batch size of the input features are inconsistent")
	refused(ask, append(features(1, 0)[:6], Value{Resource: &Table{}}), "expected a model of trees")
	refused(leaves, features(1, 0), "asked for leaves")
	ask.Attrs["dense_output_dim"] = int64(2)
	refused(ask, features(1, 0), "does not match the model output dimension=1")
	if forked := env.Resources.Fork().forest("m"); forked.loaded.Load() == nil || forked == handle[0].Resource {
		t.Error("a fork has not the model in a resource of its own")
	}
}
