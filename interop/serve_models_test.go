package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/tensor"
)

// servedRun is one call of a signature, and what TensorFlow answers.
type servedRun struct {
	Signature string
	kerasRun
}

// refusedModels are the models of serve_models.py that need what goestimator did not have when this was written, and all of what they need.
var refusedModels = map[string][]string{
	"brain_float": {"MatMul T = bfloat16"}, "branch_type": {"MatMul T = float16"},
	"branch_unknown": {"Cast DstT = complex64", "FFT", "Real"}, "dataset_inside": {"BesselI0", "MapDataset", "RangeDataset", "ReduceDataset"},
	"half":           {"MatMul T = float16", "Softmax T = float16"},
	"linear_algebra": {"Cholesky"}, "mixed_precision": {"BiasAdd T = float16", "MatMul T = float16", "Relu T = float16"}, "narrow_sums": {"Cumsum T = int16"},
	"one_bad_signature": {"MatrixInverse"}, "python_function": {"EagerPyFunc"}, "quantized": {"FakeQuantWithMinMaxArgs"},
}

// TestServeModels: each model is refused when it is loaded, with all reasons, or answers every signature as TensorFlow does.
func TestServeModels(t *testing.T) {
	dir := os.Getenv("GOESTIMATOR_SERVE_MODELS")
	if dir == "" {
		if os.Getenv("GOESTIMATOR_ACCEPT") == "" {
			t.Skip("skipped: takes two minutes (GOESTIMATOR_ACCEPT=1)")
		}
		dir = t.TempDir()
		peers(t).run(t, "serve_models.py", dir)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) < 50 {
		t.Fatalf("got %d models, %v, expected 50", len(files), err)
	}
	right := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			s, err := session.Open(context.Background(), strings.TrimSuffix(file, ".json"), session.Options{Check: session.Check{Failed: func(signature string, err error) {
				t.Logf("dry run of %s: %v", signature, err)
			}}})
			if err != nil {
				checkRefused(t, err, refusedModels[name])
				return
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			replayServed(t, s, file)
			right++
		})
	}
	t.Logf("%d of %d models answer as TensorFlow does", right, len(files))
}

// checkRefused compares what is missing with what is known to be.
func checkRefused(t *testing.T, err error, want []string) {
	t.Helper()
	var unsupported *session.UnsupportedError
	if !errors.As(err, &unsupported) {
		t.Fatalf("got %v, expected that it is refused for %v", err, want)
	}
	var got []string
	for _, g := range unsupported.Gaps {
		why, _, _ := strings.Cut(g.Why, " is not supported")
		got = append(got, strings.TrimSpace(g.Op+" "+why))
	}
	for _, g := range got { // what has got a kernel since is no longer named
		if !slices.Contains(want, g) {
			t.Errorf("refused for %q, expected none but %q: %v", got, want, err)
		}
	}
}

// replayServed replays what TensorFlow answered.
func replayServed(t *testing.T, s *session.Session, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var runs []servedRun
	if err := json.Unmarshal(data, &runs); err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		sig, feeds := s.Signatures()[r.Signature], map[string]*tensor.Tensor{}
		for alias, in := range r.Inputs {
			feeds[sig.GetInputs()[alias].GetName()] = in.tensor(t)
		}
		var aliases, fetches []string
		for alias := range r.Outputs {
			aliases, fetches = append(aliases, alias), append(fetches, sig.GetOutputs()[alias].GetName())
		}
		got, err := s.Run(context.Background(), feeds, fetches)
		if err != nil {
			t.Fatalf("%s: %v", r.Signature, err)
		}
		for i, alias := range aliases {
			alike(t, r.Signature+" "+alias, got[i], r.Outputs[alias].tensor(t))
		}
	}
}
