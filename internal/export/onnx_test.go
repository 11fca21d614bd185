package export_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// shared returns a model that reads a variable of that shape twice, and has an output with the variable's name.
func shared(t *testing.T, rows int, value func(string) (*tensor.Tensor, error)) export.Model {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", typ(tensor.Float32, graph.BatchOf(2)))
	vt := typ(tensor.Float32, graph.ShapeOf(rows, 2))
	v := b.Variable("w", vt)
	attrs := graph.Attrs{"T": tensor.Float32, "transpose_a": false, "transpose_b": true}
	y := b.Op("MatMul", "y", typ(tensor.Float32, graph.BatchOf(rows)), attrs, x, b.Read(v, vt))
	z := b.Op("MatMul", "z", typ(tensor.Float32, graph.BatchOf(rows)), attrs, x, b.Op("ReadVariableOp", "again", vt, graph.Attrs{"dtype": tensor.Float32}, v))
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	return export.Model{Variables: export.Variables{Value: value}, Graphs: []export.Graph{{Mode: models.Predict, IR: b.Graph, Input: export.Raw(),
		Feeds:      []export.Feed{{Column: inputs.Column{Name: "x", DType: tensor.Float32, Shape: []int{2}}, Values: x}},
		Signatures: []export.Signature{{Name: "predict", Kind: export.Predict, Outputs: []export.Named{{Name: "w", Output: y}, {Name: "z", Output: z}}}}}}}
}

// TestONNXVariables: a variable is in the file once, and is renamed if an output has its name.
func TestONNXVariables(t *testing.T) {
	value := floats([]int{3, 2}, 1, 2, 3, 4, 5, 6)
	base := t.TempDir()
	dir, err := export.ONNX(atomicfile.OS{}, base, shared(t, 3, func(string) (*tensor.Tensor, error) { return value, nil }), export.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, export.OnnxFile))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, value.Bytes); n != 1 {
		t.Errorf("the variable is %d times in the file", n)
	}
	if !bytes.Contains(data, []byte("w_1")) {
		t.Error("expected the variable, not the output, to get another name")
	}
	if names, err := os.ReadDir(base); err != nil || len(names) != 1 {
		t.Errorf("in the base are %v, %v", names, err)
	}
}

// TestONNXTooLarge: nothing is read if it will not fit.
func TestONNXTooLarge(t *testing.T) {
	base := t.TempDir()
	_, err := export.ONNX(atomicfile.OS{}, base, shared(t, 1<<29, func(string) (*tensor.Tensor, error) {
		t.Error("the variable was read")
		return nil, os.ErrInvalid
	}), export.Options{})
	if !errors.Is(err, onnx.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if names, _ := os.ReadDir(base); len(names) > 0 {
		t.Errorf("left over: %v", names)
	}
}

func TestONNXRefuses(t *testing.T) {
	m := newToy()
	for want, model := range map[string]export.Model{
		"expected a graph to predict":            {},
		"examples cannot be parsed there":        m.model(m.graph(export.Parsing(), m.predicting("predict"))),
		"ONNX has no form of the ops Foo (node)": strange(),
	} {
		if _, err := export.ONNX(atomicfile.OS{}, t.TempDir(), model, withoutLog); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// strange returns a model with an unknown op.
func strange() export.Model {
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", typ(tensor.Float32, graph.BatchOf()))
	y := b.Op("Foo", "node", x.Type(), nil, x)
	return export.Model{Graphs: []export.Graph{{Mode: models.Predict, IR: b.Graph, Input: export.Raw(), Feeds: []export.Feed{{Column: inputs.Column{Name: "x", DType: tensor.Float32}, Values: x}},
		Signatures: []export.Signature{{Name: "predict", Kind: export.Predict, Outputs: []export.Named{{Name: "y", Output: y}}}}}}}
}
