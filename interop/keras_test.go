package interop_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// kerasTensor is a tensor in the form that keras_models.py writes.
type kerasTensor struct {
	DType string          `json:"dtype"`
	Shape []int           `json:"shape"`
	Data  json.RawMessage `json:"data"`
}

// kerasRun is one call of a signature.
type kerasRun struct {
	Inputs  map[string]kerasTensor `json:"inputs"`
	Outputs map[string]kerasTensor `json:"outputs"`
}

func (r kerasTensor) tensor(t testing.TB) *tensor.Tensor {
	t.Helper()
	if r.DType == "string" {
		var texts [][]byte // encoding/json decodes base64
		if err := json.Unmarshal(r.Data, &texts); err != nil {
			t.Fatal(err)
		}
		x, err := tensor.FromStrings(texts, r.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	d, err := tensor.ParseDType(r.DType)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	if err := json.Unmarshal(r.Data, &text); err != nil {
		t.Fatal(err)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.New(d, r.Shape...)
	copy(x.Bytes, data)
	return x
}

// replayRuns compares a model with TensorFlow's recorded results.
func replayRuns(t *testing.T, m servable.Model, signature, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var runs []kerasRun
	if err := json.Unmarshal(data, &runs); err != nil {
		t.Fatal(err)
	}
	sig := m.Signatures()[signature]
	if sig == nil {
		t.Fatalf("no signature %q", signature)
	}
	for _, r := range runs {
		feeds := map[string]*tensor.Tensor{}
		for alias, in := range r.Inputs {
			feeds[sig.GetInputs()[alias].GetName()] = in.tensor(t)
		}
		for alias, want := range r.Outputs {
			got, err := m.Run(context.Background(), feeds, []string{sig.GetOutputs()[alias].GetName()})
			if err != nil {
				t.Fatal(err)
			}
			alike(t, alias, got[0], want.tensor(t))
		}
	}
}

func alike(t *testing.T, what string, got, want *tensor.Tensor) {
	t.Helper()
	if err := difference(got, want); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// difference returns an error that says where got differs from TensorFlow's tensor.
func difference(got, want *tensor.Tensor) error {
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("got %v %v, TensorFlow has %v %v", got.DType, got.Shape, want.DType, want.Shape)
	}
	for i := range want.Strings {
		if string(got.Strings[i]) != string(want.Strings[i]) {
			return fmt.Errorf("element %d is %q, TensorFlow has %q", i, got.Strings[i], want.Strings[i])
		}
	}
	within := 1e-5
	switch want.DType {
	case tensor.Float16:
		within = 0x1p-10
	case tensor.BFloat16:
		within = 0x1p-7
	}
	for i := range want.Len() * min(1, want.DType.Size()) {
		a, b := got.Float(i), want.Float(i)
		if !testkit.Near(a, b, within*math.Max(1, math.Abs(b))) {
			return fmt.Errorf("element %d is %v, TensorFlow has %v", i, a, b)
		}
	}
	return nil
}

// TestKerasModels loads models saved by Keras and compares with TensorFlow's results.
func TestKerasModels(t *testing.T) {
	models := []string{"mlp", "cnn", "mobilenet", "ids", "lookup", "text", "attention", "resize", "lstm", "gru", "recurrent", "choices"}
	dir := os.Getenv("GOESTIMATOR_KERAS_MODELS")
	if dir == "" {
		if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
			t.Skip("skipped: takes a minute (GOESTIMATOR_ACCEPT=1)")
		}
		dir = t.TempDir()
		p := peers(t)
		if out := p.run(t, "keras_models.py", append([]string{dir}, models...)...); strings.Count(out, " ok\n") != len(models) {
			t.Fatalf("not all models were saved: %s", out)
		}
	}
	for _, name := range models {
		t.Run(name, func(t *testing.T) {
			replayRuns(t, served(t, filepath.Join(dir, name)), "serving_default", filepath.Join(dir, name+".json"))
		})
	}
}

// served loads a SavedModel like the server.
func served(t *testing.T, dir string) servable.Model {
	t.Helper()
	m, err := session.Open(context.Background(), dir, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestEstimatorModels loads exports of tf.estimator: columns, parsing of examples, heads.
func TestEstimatorModels(t *testing.T) {
	models := []string{"linear", "binary", "dnn", "regressor", "both"}
	dir := os.Getenv("GOESTIMATOR_ESTIMATOR_MODELS")
	if dir == "" {
		if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
			t.Skip("skipped: takes a minute (GOESTIMATOR_ACCEPT=1)")
		}
		dir = t.TempDir()
		p := peers(t)
		if out := p.run(t, "estimator_models.py", dir); strings.Count(out, "ok") != len(models) {
			t.Fatalf("not all models were exported: %s", out)
		}
	}
	for _, name := range models {
		t.Run(name, func(t *testing.T) {
			m := served(t, filepath.Join(dir, name))
			for key := range m.Signatures() {
				t.Run(key, func(t *testing.T) {
					replayRuns(t, m, key, filepath.Join(dir, name+"."+key+".json"))
				})
			}
		})
	}
}
