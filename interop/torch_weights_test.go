package interop_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/models/weights"
	"github.com/goestimator/goestimator/tensor"
)

// TestTorchWeights reads files of the installed PyTorch; models/weights has recorded files of one version.
func TestTorchWeights(t *testing.T) {
	py := torch(t)
	dir := t.TempDir()
	py.run(t, "weights_files.py", dir, "torch")
	for name, tensors := range map[string]int{"kinds": 19, "legacy": 19, "net": 7, "nested": 19, "protocol4": 2} {
		f, err := weights.Open(filepath.Join(dir, name+".pt"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if n := len(f.List()); n != tensors || f.Format() != "PyTorch" {
			t.Errorf("%s: %d tensors of %s, expected %d", name, n, f.Format(), tensors)
		}
		for _, info := range f.List() {
			x, err := f.Tensor(info.Name)
			if err != nil {
				t.Fatal(err)
			}
			if info.DType == tensor.Float32 {
				for i, v := range tensor.Values[float32](x) {
					if want := float32(i%23)*0.5 - 3; v != want {
						t.Fatalf("%s: %s: element %d is %v, expected %v", name, info.Name, i, v, want)
					}
				}
			}
		}
	}
	for _, name := range []string{"hostile", "hostile_legacy", "module", "expanded"} {
		if _, err := weights.Open(filepath.Join(dir, name+".pt")); !errors.Is(err, weights.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
