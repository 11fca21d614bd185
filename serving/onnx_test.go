package serving

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/internal/serving/manager"
	"github.com/goestimator/goestimator/tensor"
)

// constantOf is an initializer with rising values.
func constantOf(t *testing.T, name string, shape ...int) onnx.Initializer {
	t.Helper()
	v := tensor.New(tensor.Float32, shape...)
	for i := range tensor.Values[float32](v) {
		tensor.Values[float32](v)[i] = float32(i%7) - 3
	}
	return onnx.Initializer{Name: name, Tensor: v}
}

// writeONNX makes a version of a model.
func writeONNX(t *testing.T, dir string, g onnx.Graph) {
	t.Helper()
	data, err := (&onnx.Model{Graph: g}).Marshal()
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, onnx.File), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestServesONNX serves a network with two layers and one with a convolution over REST at the same time.
func TestServesONNX(t *testing.T) {
	root := t.TempDir()
	mlp, images := filepath.Join(root, "mlp"), filepath.Join(root, "images")
	batch := onnx.Dim{Symbol: "batch"}
	writeONNX(t, filepath.Join(mlp, "1"), onnx.Graph{
		Inputs: []onnx.Value{{Name: "input.1", DType: tensor.Float32, Dims: []onnx.Dim{batch, {Size: 2}}}}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Dims: []onnx.Dim{batch, {Size: 1}}}},
		Initializers: []onnx.Initializer{constantOf(t, "w", 3, 2), constantOf(t, "b", 3), constantOf(t, "v", 3, 1)},
		Nodes: []onnx.Node{{Op: "Gemm", Inputs: []string{"input.1", "w", "b"}, Outputs: []string{"h"}, Attrs: map[string]any{"transB": 1}},
			{Op: "Relu", Inputs: []string{"h"}, Outputs: []string{"r"}}, {Op: "MatMul", Inputs: []string{"r", "v"}, Outputs: []string{"y"}}},
	})
	writeONNX(t, filepath.Join(images, "1"), onnx.Graph{
		Inputs:       []onnx.Value{{Name: "x", DType: tensor.Float32, Dims: []onnx.Dim{batch, {Size: 1}, {Size: 3}, {Size: 3}}}},
		Outputs:      []onnx.Value{{Name: "y", DType: tensor.Float32, Dims: []onnx.Dim{batch, {Size: 2}}}},
		Initializers: []onnx.Initializer{constantOf(t, "w", 2, 1, 2, 2), constantOf(t, "b", 2)},
		Nodes: []onnx.Node{{Op: "Conv", Inputs: []string{"x", "w", "b"}, Outputs: []string{"c"}}, {Op: "MaxPool", Inputs: []string{"c"}, Outputs: []string{"p"}, Attrs: map[string]any{"kernel_shape": []int{2, 2}}},
			{Op: "Flatten", Inputs: []string{"p"}, Outputs: []string{"y"}}},
	})
	s := run(t, Options{Loader: SavedModels(SavedModelOptions{}), Models: Models{Config: manager.Single(map[string]string{"mlp": mlp, "images": images})}, Listen: Listen{REST: 0}}).wait(t)

	// w = [[-3, -2], [-1, 0], [1, 2]], b = v = [-3, -2, -1]: of [1, 2] the hidden layer is [0, 0, 4], of [-2, 0] it is [3, 0, 0].
	checkREST(t, s, "mlp", `{"instances": [[1, 2], [-2, 0]]}`, [][]float64{{-4}, {-9}})
	// The channels' filters are [-3, -2, -1, 0] and [1, 2, 3, -3]; their largest sums over [[1, 2, 3], [4, 5, 6], [7, 8, 9]] are at its ends.
	checkREST(t, s, "images", `{"instances": [[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]}`, [][]float64{{-3 - 4 - 4 - 3, 5 + 12 + 24 - 27 - 2}})

	// If a version needs ops that are not translated, the previous one serves on, and the error lists all of them.
	writeONNX(t, filepath.Join(mlp, "2"), onnx.Graph{
		Inputs: []onnx.Value{{Name: "x", DType: tensor.Float32, Dims: []onnx.Dim{batch}}}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Dims: []onnx.Dim{batch}}},
		Nodes: []onnx.Node{{Op: "Bogus", Name: "first", Inputs: []string{"x"}, Outputs: []string{"a"}}, {Op: "Cast", Name: "second", Inputs: []string{"a"}, Outputs: []string{"b"}, Attrs: map[string]any{"to": 1}},
			{Op: "Sin", Domain: "other", Name: "third", Inputs: []string{"b"}, Outputs: []string{"y"}}},
	})
	_, err := SavedModels(SavedModelOptions{})(t.Context(), filepath.Join(mlp, "2"))
	if err == nil || !strings.Contains(err.Error(), "Bogus (node first, 1 in all): the operator is not translated (version 17)") || !strings.Contains(err.Error(), "other.Sin (node third, 1 in all): the domain is not known") {
		t.Errorf("got %v", err)
	}
}

// checkREST sends a predict request and compares the rows of the response.
func checkREST(t *testing.T, s *running, model, body string, want [][]float64) {
	t.Helper()
	r, err := http.Post(fmt.Sprintf("http://%s/v1/models/%s:predict", s.Addresses().REST, model), "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Predictions [][]float64 }
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%s: %v: %s", model, err, text)
	}
	same := func(a, b []float64) bool {
		return slices.EqualFunc(a, b, func(a, b float64) bool { return math.Abs(a-b) < 1e-5 })
	}
	if !slices.EqualFunc(got.Predictions, want, same) {
		t.Errorf("%s: got %s, expected %v", model, text, want)
	}
}
