package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

func TestInspectONNX(t *testing.T) {
	data, err := (&onnx.Model{Graph: onnx.Graph{
		Inputs: []onnx.Value{{Name: "x", DType: tensor.Float32, Dims: []onnx.Dim{{Symbol: "batch"}, {Size: 2}}}}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
		Initializers: []onnx.Initializer{{Name: "w", Tensor: tensor.New(tensor.Float32, 2, 3)}}, Nodes: []onnx.Node{{Op: "MatMul", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}},
	}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "7")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, onnx.File), data, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := describeSavedModel(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	text := info.String()
	for _, want := range []string{"ONNX model " + dir, "graph ai.onnx 17: 1 nodes", "signature serving_default", "[batch 2]", "unknown rank", "w         float32", "ops: MatMul 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nexpected %q in it", text, want)
		}
	}
}
