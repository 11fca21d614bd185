package interop_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/tensor"
)

// TestControlFlowOfTensorFlow1 loads loops and conditionals saved by TensorFlow 1, and compares their
// results. Irregular ones, and ones with an unsupported op, are refused with an error that names them.
func TestControlFlowOfTensorFlow1(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: takes long (GOESTIMATOR_ACCEPT=1, make parity)")
	}
	py, dir := peers(t), t.TempDir()
	py.run(t, "v1_control.py", dir)
	for _, name := range []string{"power", "nested", "growing", "branches", "deep", "mixed", "cases", "searching", "arrays", "rnn", "joined", "split"} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(dir, name)
			s, err := session.Open(t.Context(), filepath.Join(folder, "model"), session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			sig := s.Signatures()[savedmodel.DefaultSignature]
			for i := range 5 {
				given, want := load(t, filepath.Join(folder, fmt.Sprintf("feeds%d", i))), load(t, filepath.Join(folder, fmt.Sprintf("want%d", i)))
				feeds := map[string]*tensor.Tensor{}
				for key, info := range sig.GetInputs() {
					feeds[info.GetName()] = given[key]
				}
				for key, info := range sig.GetOutputs() {
					got, err := s.Run(context.Background(), feeds, []string{info.GetName()})
					if err != nil {
						t.Fatalf("%s of %d: %v", key, i, err)
					}
					alike(t, fmt.Sprintf("%s of %d", key, i), got[0], want[key])
				}
			}
		})
	}
	for name, want := range map[string]string{"index": "which branch was taken"} {
		if s, err := session.Open(t.Context(), filepath.Join(dir, name, "model"), session.Options{}); err == nil {
			s.Close()
			t.Errorf("%s: expected it to be refused", name)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: expected it to name %q", name, err, want)
		}
	}
}
