package stablehlograph_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// SavedModels as written by jax2tf: Flax networks, a GPT that scans its layers, a text sampler, inputs of many types, open batches.
func TestModelsOfJAX(t *testing.T) {
	dir := os.Getenv("MODELS")
	if dir == "" {
		python := jax(t)
		if exec.CommandContext(t.Context(), python, "-c", "import tensorflow").Run() != nil {
			t.Skip("skipped: the interpreter with JAX has no TensorFlow")
		}
		dir = t.TempDir()
		if out, err := exec.CommandContext(t.Context(), python, filepath.Join(testkit.Root(), "interop/python/stablehlo_models.py"), dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	dirs, err := filepath.Glob(filepath.Join(dir, "*", "1"))
	if err != nil || len(dirs) < 4 {
		t.Fatalf("%d models, %v", len(dirs), err)
	}
	for _, d := range dirs {
		t.Run(filepath.Base(filepath.Dir(d)), func(t *testing.T) { checkModel(t, d) })
	}
}

func readFile(t *testing.T, path string) recorded {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return readCase(t, f, st.Size())
}

// checkModel compares a model's outputs with the recorded ones beside it.
func checkModel(t *testing.T, dir string) {
	s, err := session.Open(t.Context(), dir, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in, want := readFile(t, filepath.Join(dir, "../in.npz")), readFile(t, filepath.Join(dir, "../out.npz"))
	sig := s.Signatures()["serving_default"]
	feeds, fetches, names := map[string]*tensor.Tensor{}, []string{}, []string{}
	for name, info := range sig.GetInputs() {
		feeds[info.GetName()] = in[strings.TrimPrefix(name, "args_")]
	}
	for name, info := range sig.GetOutputs() {
		fetches, names = append(fetches, info.GetName()), append(names, name)
	}
	got, err := s.Run(t.Context(), feeds, fetches)
	if err != nil {
		t.Fatal(err)
	}
	for i, y := range got {
		if err := same(y, want[names[i]]); err != nil {
			t.Errorf("output %s: %v", names[i], err)
		}
	}
}
