package interop_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// fashionImages writes the first images of the test set to a file and returns it, and the images as the config scales them.
func fashionImages(t *testing.T, n int) (file string, images *tensor.Tensor) {
	t.Helper()
	f, err := os.Open(filepath.Join(testkit.Shared(t, "data/fashion-mnist"), "t10k-images-idx3-ubyte.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 16+n*784)
	if _, err := io.ReadFull(z, b); err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint32(b[4:], uint32(n))
	file = filepath.Join(t.TempDir(), "images-idx3-ubyte")
	write(t, file, b)
	images = tensor.New(tensor.Float32, n, 28, 28, 1)
	for i, v := range b[16:] {
		tensor.Values[float32](images)[i] = float32(v) / 255
	}
	return file, images
}

// fashion trains a config for some steps in the folder model and returns the arguments that identify the trained model.
func fashion(t *testing.T, model, config, steps string) []string {
	t.Helper()
	args := []string{"--config", "configs/" + config, "--set", "data_dir=" + testkit.Shared(t, "data/fashion-mnist"), "--set", "model_dir=" + model,
		"--set", "train.max_steps=" + steps, "--set", "eval.input.take=1000", "--set", "eval.exporters=[{name: last, kind: final}]"}
	goestimator(t, append([]string{"train"}, args...)...)
	return args
}

// probabilities are the probabilities in rows of predictions or responses.
func probabilities(t *testing.T, rows []map[string]any) [][]float64 {
	t.Helper()
	var out [][]float64
	for _, row := range rows {
		var p []float64
		for _, v := range row["probabilities"].([]any) {
			p = append(p, v.(float64))
		}
		out = append(out, p)
	}
	return out
}

// near fails if probabilities differ by more than 1e-5.
func near(t *testing.T, who string, got, want [][]float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d answers, expected %d", who, len(got), len(want))
		return
	}
	worst := 0.0
	for i := range want {
		if len(got[i]) != len(want[i]) {
			t.Errorf("%s: %d classes, expected %d", who, len(got[i]), len(want[i]))
			return
		}
		for k := range want[i] {
			worst = math.Max(worst, math.Abs(got[i][k]-want[i][k]))
		}
	}
	t.Logf("%s: %d answers, largest difference %.3g", who, len(got), worst)
	if !(worst <= 1e-5) {
		t.Errorf("%s: differs by %g", who, worst)
	}
}

// answers parses the output of a client.
func answers(t *testing.T, who string, text []byte) [][]float64 {
	t.Helper()
	var out [][]float64
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s: %v: %.500s", who, err, text)
	}
	return out
}

// TestFashionServed trains the config for Fashion-MNIST, exports it with the command and with an exporter, and serves
// both. curl, grpcurl, Python and JavaScript clients get the same predictions as `predict`.
func TestFashionServed(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: runs processes (-short)")
	}
	steps, n := "40", 8
	if os.Getenv("GOESTIMATOR_ACCEPT") == "1" {
		steps, n = "300", 200
	}
	model := filepath.Join(t.TempDir(), "model")
	args := fashion(t, model, "fashion_mnist_mlp.yaml", steps)
	file, images := fashionImages(t, n)
	want := probabilities(t, predictRows(t, file, args...))
	base := filepath.Join(t.TempDir(), "fashion")
	exported(t, base, args...)
	at := serve(t, "--model", "fashion="+base, "--model", "last="+filepath.Join(model, "export", "last"))
	given := filepath.Join(t.TempDir(), "images.json")
	rows := make([]any, n)
	for i := range rows {
		rows[i] = nested(tensor.Values[float32](images)[i*784:(i+1)*784], 28, 28, 1)
	}
	writeJSON(t, given, rows)
	t.Run("curl", func(t *testing.T) { fashionByCurl(t, at.REST, rows, want) })
	t.Run("grpcurl", func(t *testing.T) {
		fashionByGRPCurl(t, at.GRPC, tensor.Values[float32](images)[:min(n, 20)*784], want[:min(n, 20)])
	})
	t.Run("python", func(t *testing.T) {
		near(t, "tensorflow-serving-api", answers(t, "python", []byte(peers(t).run(t, "serve_fashion.py", at.GRPC, given))), want)
	})
	t.Run("js", func(t *testing.T) {
		dir := jsClient(t, at.GRPC, "serve_fashion.js")
		out, err := tool(t, dir, nil, "node", "serve_fashion.js", at.GRPC, "protos", given)
		if err != nil {
			t.Fatalf("%v\n%s", err, tail(out, 2000))
		}
		near(t, "@grpc/grpc-js", answers(t, "js", []byte(out)), want)
	})
}

// nested arranges values in nested lists.
func nested(values []float32, shape ...int) any {
	if len(shape) == 0 {
		return values[0]
	}
	size := len(values) / shape[0]
	out := make([]any, shape[0])
	for i := range out {
		out[i] = nested(values[i*size:(i+1)*size], shape[1:]...)
	}
	return out
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, b)
}

// fashionByCurl sends requests in row and in column format to both models.
func fashionByCurl(t *testing.T, rest string, rows []any, want [][]float64) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skipf("skipped: %v", err)
	}
	dir := t.TempDir()
	writeJSON(t, filepath.Join(dir, "rows.json"), map[string]any{"instances": rows})
	writeJSON(t, filepath.Join(dir, "columns.json"), map[string]any{"signature_name": "predict", "inputs": map[string]any{"image": rows}})
	for _, model := range []string{"fashion", "last"} {
		url := "http://" + rest + "/v1/models/" + model + ":predict"
		out, err := tool(t, dir, nil, "curl", "-sS", "--fail-with-body", "-d", "@rows.json", url)
		var byRow struct{ Predictions []map[string]any }
		if err != nil || json.Unmarshal([]byte(out), &byRow) != nil {
			t.Fatalf("%v: %.500s", err, out)
		}
		near(t, model+" rows", probabilities(t, byRow.Predictions), want)
		out, err = tool(t, dir, nil, "curl", "-sS", "--compressed", "--fail-with-body", "-d", "@columns.json", url)
		var byColumn struct {
			Outputs struct{ Probabilities [][]float64 }
		}
		if err != nil || json.Unmarshal([]byte(out), &byColumn) != nil {
			t.Fatalf("%v: %.500s", err, out)
		}
		near(t, model+" columns", byColumn.Outputs.Probabilities, want)
	}
}

// fashionByGRPCurl uses the server's reflection service.
func fashionByGRPCurl(t *testing.T, addr string, images []float32, want [][]float64) {
	path := grpcurl(t)
	dims := []any{}
	for _, d := range []int{len(images) / 784, 28, 28, 1} {
		dims = append(dims, map[string]any{"size": d})
	}
	request, err := json.Marshal(map[string]any{"model_spec": map[string]any{"name": "fashion"}, "output_filter": []string{"probabilities"},
		"inputs": map[string]any{"image": map[string]any{"dtype": "DT_FLOAT", "tensor_shape": map[string]any{"dim": dims}, "float_val": images}}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "-plaintext", "-d", "@", addr, grpcapi.PredictionService+"/Predict")
	cmd.Stdin = bytes.NewReader(request)
	out, err := cmd.Output()
	var reply struct {
		Outputs map[string]struct {
			FloatVal []float64 `json:"floatVal"`
		}
	}
	if err != nil || json.Unmarshal(out, &reply) != nil {
		t.Fatalf("%v: %.500s", err, out)
	}
	var got [][]float64
	for flat := reply.Outputs["probabilities"].FloatVal; len(flat) >= 10; flat = flat[10:] {
		got = append(got, flat[:10])
	}
	near(t, "grpcurl", got, want)
}

// TestFashionONNX exports the configs for Fashion-MNIST as ONNX: ONNX Runtime gives the predictions of `predict`.
func TestFashionONNX(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: runs processes (-short)")
	}
	py, n := peers(t), 32
	file, images := fashionImages(t, n)
	configs, steps := []string{"fashion_mnist_mlp.yaml"}, "20"
	if os.Getenv("GOESTIMATOR_ACCEPT") == "1" {
		configs, steps = append(configs, "fashion_mnist.yaml"), "100"
	}
	work := t.TempDir()
	var cases []servedCase
	for _, config := range configs {
		dir := filepath.Join(work, config)
		args := fashion(t, filepath.Join(dir, "model"), config, steps)
		cases = append(cases, servedCase{config, exported(t, dir, append(args, "--format", "onnx")...), save(t, filepath.Join(dir, "feeds"), map[string]*tensor.Tensor{"image": images}),
			save(t, filepath.Join(dir, "want"), tensorsOf(predictRows(t, file, args...)))})
	}
	writeJSON(t, filepath.Join(work, "cases.json"), cases)
	py.run(t, "onnx_run.py", filepath.Join(work, "cases.json"))
}

// tensorsOf converts rows of a classifier's predictions to tensors.
func tensorsOf(rows []map[string]any) map[string]*tensor.Tensor {
	types := map[string]tensor.DType{"all_class_ids": tensor.Int32, "class_ids": tensor.Int64, "classes": tensor.String, "all_classes": tensor.String}
	out := map[string]*tensor.Tensor{}
	for name, first := range rows[0] {
		width, dtype := len(first.([]any)), types[name]
		if types[name] == 0 {
			dtype = tensor.Float32
		}
		x := tensor.New(dtype, len(rows), width)
		for i, row := range rows {
			for k, v := range row[name].([]any) {
				switch at := i*width + k; dtype {
				case tensor.Int32:
					tensor.Values[int32](x)[at] = int32(v.(float64))
				case tensor.Int64:
					tensor.Values[int64](x)[at] = int64(v.(float64))
				case tensor.String:
					x.Strings[at] = []byte(v.(string))
				default:
					tensor.Values[float32](x)[at] = float32(v.(float64))
				}
			}
		}
		out[name] = x
	}
	return out
}
