package estimator_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// TestFilesOfALoadedModel: a loaded model does not go back to its files. Truncated, with other bytes or removed, they change no answer, to a
// batch of a size that was not seen before either.
func TestFilesOfALoadedModel(t *testing.T) {
	rc, err := runconfig.New(runconfig.ModelDir(t.TempDir()), runconfig.TFRandomSeed(3))
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(heads.MultiClass(3).Of(networks.MLP(300, 300)), estimator.WithRunConfig(rc), estimator.WithOptimizer(optimizers.SGD(0.01)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Train(t.Context(), estimator.InputFunc(equalData), estimator.Steps(1)); err != nil {
		t.Fatal(err)
	}
	columns := []inputs.Column{{Name: "x", Role: inputs.Feature, DType: tensor.Float32, Shape: []int{6}}, {Name: "id", Role: inputs.Feature, DType: tensor.Int64, Shape: []int{2}}}
	dir, err := e.ExportSavedModel(t.Context(), t.TempDir(), estimator.RawServingInput(columns...))
	if err != nil {
		t.Fatal(err)
	}
	before, after := loaded(t, dir), loaded(t, dir)
	sizes := []int{2, 5, 40}
	var want [][]byte
	for _, rows := range sizes {
		want = append(want, logitsOf(t, before, rows))
	}
	for _, change := range []struct {
		what string
		file func(path string) error
	}{
		{"truncated", func(path string) error { return os.Truncate(path, 0) }},
		{"other bytes", func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("other"), 200_000), 0o644) }},
		{"removed", os.Remove},
	} {
		changed := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			changed++
			return change.file(path)
		})
		if err != nil || changed < 3 {
			t.Fatalf("%d files %s, %v: expected 3 or more", changed, change.what, err)
		}
		for i, rows := range sizes {
			if got := logitsOf(t, after, rows); !bytes.Equal(got, want[i]) {
				t.Errorf("files %s: the answer to %d rows is %x, was %x", change.what, rows, got, want[i])
			}
		}
	}
}

// loaded is a session of a SavedModel, for the time of the test.
func loaded(t *testing.T, dir string) *session.Session {
	t.Helper()
	s, err := session.Open(t.Context(), dir, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// logitsOf is what a model with the columns of equalData says of some rows.
func logitsOf(t *testing.T, s *session.Session, rows int) []byte {
	t.Helper()
	sig := s.Signatures()["serving_default"]
	x, id := tensor.New(tensor.Float32, rows, 6), tensor.New(tensor.Int64, rows, 2)
	for i := range tensor.Values[float32](x) {
		tensor.Values[float32](x)[i] = float32(i%7) - 2.5
	}
	feeds := map[string]*tensor.Tensor{sig.GetInputs()["x"].GetName(): x, sig.GetInputs()["id"].GetName(): id}
	y, err := s.Run(t.Context(), feeds, []string{sig.GetOutputs()["logits"].GetName()})
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(y[0].Bytes)
}
