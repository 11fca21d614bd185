package weights_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/models/weights"
	"github.com/goestimator/goestimator/tensor"
)

func Example() {
	f, err := weights.Open(filepath.Join("testdata", "stored.npz"))
	if err != nil {
		panic(err)
	}
	defer f.Close()
	m, err := weights.NewMapping([]weights.Rule{{Name: "classifier/(.*)", Previous: "dense/$1"}})
	if err != nil {
		panic(err)
	}
	t, err := f.Value(m.Source("classifier/bias"), weights.Target{Name: "classifier/bias", DType: tensor.Float32, Shape: []int{1}})
	fmt.Println(f.Format(), tensor.Values[float32](t), err)
	// Output: NPZ [-3] <nil>
}

// element returns the elements that interop/python/weights_files.py writes.
func element(d tensor.DType, i int) float64 {
	switch {
	case d == tensor.Bool:
		return float64(i % 2)
	case d.Float():
		return float64(i%23)*0.5 - 3
	}
	return float64(i % 23)
}

// widened is t as Float reads it.
func widened(t *tensor.Tensor) *tensor.Tensor {
	if t.DType != tensor.Float16 && t.DType != tensor.BFloat16 {
		return t
	}
	w := tensor.New(tensor.Float32, t.Shape...)
	convert.Between(t.DType, tensor.Float32)(w.Bytes, t.Bytes)
	return w
}

// checkFile reads all tensors of a file and compares their elements.
func checkFile(t *testing.T, f *weights.File) {
	t.Helper()
	for _, info := range f.List() {
		got, err := f.Tensor(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got.DType != info.DType || !slices.Equal(got.Shape, info.Shape) || int64(len(got.Bytes)) != info.Bytes {
			t.Fatalf("%s: got %v%v, listed as %v%v of %d bytes", info.Name, got.DType, got.Shape, info.DType, info.Shape, info.Bytes)
		}
		if c := tensor.Values[complex64](got); c != nil {
			for i, x := range c {
				if want := complex(element(tensor.Float64, i), -element(tensor.Float64, i)); complex128(x) != want {
					t.Fatalf("%s: element %d is %v, expected %v", info.Name, i, x, want)
				}
			}
			continue
		}
		w := widened(got)
		for i := range w.Len() {
			want := element(info.DType, i)
			switch {
			case strings.HasPrefix(info.Name, "metrics/"):
				want = 0
			case info.Name == "filled":
				want = -3
			}
			if x := w.Float(i); x != want {
				t.Fatalf("%s: element %d is %v, expected %v", info.Name, i, x, want)
			}
		}
	}
}

func open(t testing.TB, name string) *weights.File {
	t.Helper()
	f, err := weights.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestOpenWhatOthersWrote(t *testing.T) {
	for name, want := range map[string]struct {
		format  string
		tensors int
	}{
		"kinds.safetensors": {"safetensors", 16}, "brain.safetensors": {"safetensors", 1},
		"stored.npz": {"NPZ", 20}, "deflated.npz": {"NPZ", 20},
		"kinds.h5": {"HDF5", 319}, "late.h5": {"HDF5", 2}, "model.h5": {"HDF5", 20}, "weights.h5": {"HDF5", 19}, "model.keras": {"Keras archive", 22},
		"torch/kinds.pt": {"PyTorch", 19}, "torch/legacy.pt": {"PyTorch", 19}, "torch/net.pt": {"PyTorch", 7}, "torch/nested.pt": {"PyTorch", 19},
		"torch/unsigned.pt": {"PyTorch", 3}, "torch/protocol4.pt": {"PyTorch", 2},
	} {
		f := open(t, name)
		if f.Format() != want.format || len(f.List()) != want.tensors || f.TensorFlow() {
			t.Errorf("%s: %s with %d tensors, expected %s with %d", name, f.Format(), len(f.List()), want.format, want.tensors)
		}
		checkFile(t, f)
		if _, err := f.Tensor("none"); !errors.Is(err, weights.ErrNotFound) {
			t.Errorf("%s: no tensor of this name: %v", name, err)
		}
	}
}

// TestKerasNames: variables have Keras' names in all files of Keras.
func TestKerasNames(t *testing.T) {
	for _, name := range []string{"model.h5", "weights.h5", "model.keras"} {
		f := open(t, name)
		for _, variable := range []string{"Conv1/kernel", "norm/beta", "norm/moving_mean", "norm/moving_variance", "deep/depthwise_kernel", "deep/bias",
			"steps/lstm_cell/kernel", "steps/lstm_cell/recurrent_kernel", "steps/lstm_cell/bias", "dense/kernel", "head/kernel", "head/bias"} {
			if _, ok := f.Lookup(variable); !ok {
				t.Errorf("%s has no %s", name, variable)
			}
		}
	}
}

// TestTorchNames: the name of a PyTorch tensor is the path of keys to it.
func TestTorchNames(t *testing.T) {
	for name, tensors := range map[string][]string{
		"net":       {"fc.weight", "fc.bias", "norm.running_var", "norm.num_batches_tracked"},
		"nested":    {"state_dict.fc.weight", "optimizer.state.0.exp_avg"},
		"protocol4": {"0", "1.a"},
	} {
		f := open(t, filepath.Join("torch", name+".pt"))
		for _, want := range tensors {
			if _, ok := f.Lookup(want); !ok {
				t.Errorf("%s has no %s", name, want)
			}
		}
	}
}

// TestTorchRefuses: a function that a pickle would call is refused by name, and not called.
func TestTorchRefuses(t *testing.T) {
	for name, want := range map[string]string{
		"hostile":        `it names "posix.system", which tensors and dicts of them do not need, and which is not run`,
		"hostile_legacy": `it names "posix.system"`,
		"module":         `it names "__main__.Other": a whole module is code, which is not run; save module.state_dict()`,
		"expanded":       "takes 20000 bytes, and the file has at most",
	} {
		_, err := weights.Open(filepath.Join("testdata", "torch", name+".pt"))
		if !errors.Is(err, weights.ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, expected %q", name, err, want)
		}
	}
	if _, err := os.Stat("hostile.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a pickle was run: %v", err)
	}
}

// TestOpenFolder: safetensors files in a folder are read as one, unless two of them have the same name.
func TestOpenFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"kinds.safetensors", "brain.safetensors"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := weights.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.List()) != 17 {
		t.Errorf("%d tensors, expected 17 of both files", len(f.List()))
	}
	checkFile(t, f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, "brain.safetensors"), filepath.Join(dir, "again.safetensors")); err != nil {
		t.Fatal(err)
	}
	if _, err := weights.Open(dir); !errors.Is(err, weights.ErrFormat) {
		t.Errorf("a name in two files: %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ content, want string }{
		"empty":  {"", `begins with ""`},
		"text":   {"once upon a time", `begins with "once upon a time"`},
		"zip":    {"PK\x03\x04", "zip: not a valid zip file"},
		"pickle": {"\x80\x04N.", "a pickle, which is a program and is not run"},
		"header": {"\xff\xff\x00\x00\x00\x00\x00\x00{}", "a header of 65535 bytes, expected at most 2"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := weights.Open(path); !errors.Is(err, weights.ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, expected %q", name, err, c.want)
		}
	}
	if _, err := weights.Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := weights.Open(filepath.Join("testdata", "objects.npz")); !errors.Is(err, weights.ErrFormat) || !strings.Contains(err.Error(), "pickles") {
		t.Errorf("Python objects: %v", err)
	}
}
