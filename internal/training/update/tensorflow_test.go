package update

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"github.com/goestimator/goestimator/models/optimizers"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

var record = flag.Bool("tensorflow", false, "ask TensorFlow again what its optimizers make of the combinations")

// tensorflowFile has TensorFlow's results for all combinations; interop/python/optimizers.py writes it.
const tensorflowFile = "testdata/tensorflow.json.gz"

// answers are combinations with TensorFlow's variable after all steps.
type answers struct {
	Dense  gradients `json:"dense"`
	Sparse gradients `json:"sparse"`
	Cases  []answer  `json:"cases"`
}

type answer struct {
	combination
	Dense  trained `json:"dense"`
	Sparse trained `json:"sparse"`
}

// trained is a variable with its slots, named as in Keras.
type trained struct {
	W     []float64            `json:"w"`
	Slots map[string][]float64 `json:"slots"`
}

// near fails unless both agree to a relative error.
func (x trained) near(t *testing.T, what string, want trained, tolerance float64) {
	t.Helper()
	near(t, what, x.W, want.W, tolerance)
	if len(x.Slots) != len(want.Slots) {
		t.Errorf("%s: got %d slots, expected %d", what, len(x.Slots), len(want.Slots))
	}
	for name, s := range want.Slots {
		near(t, what+": "+name, x.Slots[name], s, tolerance)
	}
}

// gradients are a variable's initial value and its gradients step by step; with ids they are rows.
type gradients struct {
	Shape []int       `json:"shape"`
	W     []float64   `json:"w"`
	Grads [][]float64 `json:"grads"`
	IDs   [][]int64   `json:"ids,omitempty"`
}

// tensorflow returns TensorFlow's answers for all combinations.
func tensorflow(t *testing.T) answers {
	t.Helper()
	all := combinations(t)
	if *record {
		askTensorFlow(t, all)
	}
	a := readAnswers(t)
	var have []combination
	for _, c := range a.Cases {
		have = append(have, c.combination)
	}
	if d := cmp.Diff(all, have); d != "" {
		t.Fatalf("%s has other combinations: go test -run %s -tensorflow asks TensorFlow for them (-want +got):\n%.2000s", tensorflowFile, t.Name(), d)
	}
	return a
}

func askTensorFlow(t *testing.T, all []combination) {
	t.Helper()
	const steps, rows, cols, n = 5, 4, 2, 3
	r := rand.New(rand.NewPCG(21, 22))
	a := answers{Dense: gradients{Shape: []int{3}, W: normals(r, 3)}, Sparse: gradients{Shape: []int{rows, cols}, W: normals(r, rows*cols)}}
	for range steps {
		a.Dense.Grads = append(a.Dense.Grads, normals(r, 3))
		a.Sparse.Grads = append(a.Sparse.Grads, normals(r, n*cols))
		a.Sparse.IDs = append(a.Sparse.IDs, []int64{r.Int64N(rows), r.Int64N(rows), 1}) // some twice, some never
	}
	for _, c := range all {
		a.Cases = append(a.Cases, answer{combination: c})
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(a); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(tensorflowFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tensorflowFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(testkit.Root(), ".venv", "bin", "python"), filepath.Join(testkit.Root(), "interop", "python", "optimizers.py"), "answer", tensorflowFile)
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=", "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func readAnswers(t *testing.T) answers {
	t.Helper()
	data, err := os.ReadFile(tensorflowFile)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var a answers
	if err := json.NewDecoder(z).Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

// train returns a variable of a given type after all steps on a device, which it closes.
func (c combination) train(t *testing.T, dev device.Device, d tensor.DType, in gradients) trained {
	t.Helper()
	v := &models.Variable{Name: "w", DType: d, Shape: in.Shape, Trainable: true}
	return c.run(t, dev, trainOp(mustNew(t, c.Rule, c.Params), v), in)
}

// run makes all steps of a TrainOp for the variable w.
func (c combination) run(t *testing.T, dev device.Device, op *optimizers.TrainOp, in gradients) trained {
	t.Helper()
	v := op.Groups[0].Variables[0]
	d := v.DType
	rows := map[string]int{}
	if in.IDs != nil {
		rows["w"] = len(in.IDs[0])
	}
	tr := startOn(t, dev, op, map[string]*tensor.Tensor{"w": numbers(d, in.W, in.Shape...)}, rows)
	defer tr.close()
	for step, g := range in.Grads {
		if in.IDs == nil {
			tr.run(numbers(d, g, in.Shape...))
			continue
		}
		ids, err := tensor.FromSlice(in.IDs[step], len(in.IDs[step]))
		if err != nil {
			t.Fatal(err)
		}
		tr.run(numbers(d, g, append([]int{len(in.IDs[step])}, in.Shape[1:]...)...), ids)
	}
	out := trained{tr.get("w"), map[string][]float64{}}
	for i, s := range ruleOf(op.Groups[0]).Slots() {
		out.Slots[s.Keras] = tr.get(namesOf(op, 0).slot(v, i))
	}
	return out
}

// numbers returns a tensor of float32 or float64.
func numbers(d tensor.DType, x []float64, shape ...int) *tensor.Tensor {
	if d == tensor.Float64 {
		return matrix(x, shape...)
	}
	single := make([]float32, len(x))
	for i, v := range x {
		single[i] = float32(v)
	}
	t, err := tensor.FromSlice(single, shape...)
	if err != nil {
		panic(err)
	}
	return t
}

// TestEveryCombination trains every rule with every combination of its parameters, dense and sparse, and compares the
// results with TensorFlow's optimizers.
func TestEveryCombination(t *testing.T) {
	a := tensorflow(t)
	for i, c := range a.Cases {
		if testing.Short() && i%5 != 0 {
			continue
		}
		for _, d := range []struct {
			name      string
			make      func() device.Device
			dtype     tensor.DType
			tolerance float64
		}{
			{"host", func() device.Device { return device.NewHost() }, tensor.Float64, 1e-8}, // TensorFlow has Adam's powers in single precision
			{"fake", func() device.Device { return device.NewFake() }, tensor.Float32, 1e-4},
		} {
			c.train(t, d.make(), d.dtype, a.Dense).near(t, c.String()+" dense on "+d.name, c.Dense, d.tolerance)
			c.train(t, d.make(), d.dtype, a.Sparse).near(t, c.String()+" sparse on "+d.name, c.Sparse, d.tolerance)
		}
	}
}
