package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

func floats(t testing.TB, v []float32, shape ...int) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromSlice(v, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// save writes tensors sorted by name.
func save(t testing.TB, fsys atomicfile.FS, prefix string, shards int, tensors map[string]*tensor.Tensor) {
	t.Helper()
	names := slices.Sorted(maps.Keys(tensors))
	saveInOrder(t, fsys, prefix, shards, tensors, names)
}

func saveInOrder(t testing.TB, fsys atomicfile.FS, prefix string, shards int, tensors map[string]*tensor.Tensor, names []string) {
	t.Helper()
	w, err := NewWriter(fsys, prefix, shards)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	for _, n := range names {
		if err := w.Add(n, tensors[n]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, fsys atomicfile.FS, prefix string) map[string]*tensor.Tensor {
	t.Helper()
	r, err := Open(fsys, prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Verify(); err != nil {
		t.Fatal(err)
	}
	got := map[string]*tensor.Tensor{}
	for _, info := range r.List() {
		x, err := r.Tensor(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(info.Shape, x.Shape) || info.DType != x.DType {
			t.Fatalf("%s: %v, %v", info.Name, info, x.Shape)
		}
		got[info.Name] = x
	}
	return got
}

// tensorFlowGoldens are bundles written by TensorFlow; we reproduce those without snappy
// byte for byte.
var tensorFlowGoldens = []struct {
	path   string
	snappy bool
	want   map[string]float32
}{
	{"saved_model_half_plus_two_2_versions/00000123", false, map[string]float32{"a": 0.5, "b": 2, "c": 3}},
	{"saved_model_half_plus_two_2_versions/00000124", false, map[string]float32{"a": 0.5, "b": 2, "c": 3}},
	{"saved_model_half_plus_three/00000123", false, map[string]float32{"a": 0.5, "b": 3, "c": 3}},
	{"saved_model_counter/00000123", false, map[string]float32{"counter": 0}},
	{"saved_model_half_plus_two_cpu/00000123", true, map[string]float32{"a": 0.5, "b": 2, "c": 3}},
	{"saved_model_half_plus_two_tf2_cpu/00000123", true, map[string]float32{
		"a/.ATTRIBUTES/VARIABLE_VALUE": 0.5, "b/.ATTRIBUTES/VARIABLE_VALUE": 2, "c/.ATTRIBUTES/VARIABLE_VALUE": 3}},
}

func TestTensorFlowGoldens(t *testing.T) {
	for _, g := range tensorFlowGoldens {
		t.Run(g.path, func(t *testing.T) {
			prefix := filepath.Join(testkit.Shared(t, "golden/tensorflow-serving/"+g.path), "variables", "variables")
			tensors := load(t, atomicfile.OS{}, prefix)
			for name, want := range g.want {
				if v := tensor.Values[float32](tensors[name]); len(v) != 1 || v[0] != want {
					t.Errorf("%s: got %v, want %v", name, v, want)
				}
			}
			m := atomicfile.NewMem("/d")
			saveInOrder(t, m, "/d/variables", 1, tensors, dataOrder(t, prefix))
			for _, name := range []string{IndexPath("variables"), DataPath("variables", 0, 1)} {
				want, err := os.ReadFile(filepath.Join(filepath.Dir(prefix), name))
				if err != nil {
					t.Fatal(err)
				}
				got, err := atomicfile.ReadFile(m, "/d/"+name)
				if err != nil {
					t.Fatal(err)
				}
				if (!g.snappy || name != "variables.index") && !bytes.Equal(got, want) {
					t.Errorf("%s differs from TensorFlow's:\n got %x\nwant %x", name, got, want)
				}
			}
		})
	}
}

// dataOrder returns the names in the order of their data in the data file.
func dataOrder(t *testing.T, prefix string) (names []string) {
	r, err := Open(atomicfile.OS{}, prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list := r.List()
	slices.SortFunc(list, func(a, b Info) int { return int(a.Offset - b.Offset) })
	for _, i := range list {
		names = append(names, i.Name)
	}
	return names
}

// drawTensor returns a tensor of any type and shape.
func drawTensor(t *rapid.T) *tensor.Tensor {
	shape := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 3).Draw(t, "shape")
	d := rapid.SampledFrom([]tensor.DType{tensor.Float32, tensor.Float64, tensor.Int32, tensor.Uint8, tensor.Int16,
		tensor.Int8, tensor.String, tensor.Complex64, tensor.Int64, tensor.Bool, tensor.BFloat16, tensor.Uint16,
		tensor.Float16, tensor.Uint32, tensor.Uint64}).Draw(t, "dtype")
	x := tensor.New(d, shape...)
	for i := range x.Strings {
		x.Strings[i] = append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "string")...)
	}
	copy(x.Bytes, rapid.SliceOfN(rapid.Byte(), len(x.Bytes), len(x.Bytes)).Draw(t, "bytes"))
	return x
}

func tensorsEqual(a, b *tensor.Tensor) bool {
	if a.DType != b.DType || fmt.Sprint(a.Shape) != fmt.Sprint(b.Shape) || !bytes.Equal(a.Bytes, b.Bytes) || len(a.Strings) != len(b.Strings) {
		return false
	}
	for i := range a.Strings {
		if !bytes.Equal(a.Strings[i], b.Strings[i]) {
			return false
		}
	}
	return true
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := map[string]*tensor.Tensor{}
		for _, n := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z/_0-9]{1,20}`), 0, 8, rapid.ID).Draw(rt, "names") {
			want[n] = drawTensor(rt)
		}
		m := atomicfile.NewMem("/d")
		save(t, m, "/d/x", rapid.IntRange(1, 3).Draw(rt, "shards"), want)
		got := load(t, m, "/d/x")
		if len(got) != len(want) {
			rt.Fatalf("%d tensors, want %d", len(got), len(want))
		}
		for n, x := range want {
			if !tensorsEqual(got[n], x) {
				rt.Fatalf("%s: got %v, want %v", n, got[n], x)
			}
		}
	})
}

func TestManyTensorsSpanBlocks(t *testing.T) {
	want := map[string]*tensor.Tensor{}
	for i := range 20000 {
		want[fmt.Sprintf("layer_%05d/kernel", i)] = tensor.Scalar(int64(i))
	}
	m := atomicfile.NewMem("/d")
	save(t, m, "/d/x", 1, want)
	got := load(t, m, "/d/x")
	for n, x := range want {
		if !tensorsEqual(got[n], x) {
			t.Fatalf("%s differs", n)
		}
	}
}

func TestPartitioned(t *testing.T) {
	m := atomicfile.NewMem("/d")
	full := []int{3, 4}
	w, err := NewWriter(m, "/d/x", 2)
	if err != nil {
		t.Fatal(err)
	}
	parts := []struct {
		s Slice
		x *tensor.Tensor
	}{
		{Slice{{0, 2}, {0, -1}}, floats(t, []float32{0, 1, 2, 3, 4, 5, 6, 7}, 2, 4)},
		{Slice{{2, 1}, {0, 3}}, floats(t, []float32{8, 9, 10}, 1, 3)},
		{Slice{{2, 1}, {3, 1}}, floats(t, []float32{11}, 1, 1)},
	}
	for _, p := range parts {
		if err := w.AddSlice("table", full, p.s, p.x); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := tensor.FromStrings([][]byte{[]byte("a"), []byte("b")}, 2)
	if err := w.AddSlice("words", []int{2}, Slice{{0, -1}}, s); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(m, "/d/x")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := len(r.entries["words"].slices); n != 0 {
		t.Errorf("a slice that is everything: got %d slices, TensorFlow expects the tensor itself", n)
	}
	got := load(t, m, "/d/x")
	if len(got) != 2 || !tensorsEqual(got["words"], s) {
		t.Fatalf("got %v", got)
	}
	want := []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	if d := cmp.Diff(want, tensor.Values[float32](got["table"])); d != "" {
		t.Fatal(d)
	}
}

func TestPartitionedErrors(t *testing.T) {
	one := floats(t, []float32{1}, 1)
	for name, add := range map[string]func(w *Writer) error{
		"rank":      func(w *Writer) error { return w.AddSlice("x", []int{2, 2}, Slice{{0, 1}}, one) },
		"outside":   func(w *Writer) error { return w.AddSlice("x", []int{2}, Slice{{2, 1}}, one) },
		"shape":     func(w *Writer) error { return w.AddSlice("x", []int{2}, Slice{{0, 2}}, one) },
		"gap":       func(w *Writer) error { return w.AddSlice("x", []int{2}, Slice{{0, 1}}, one) },
		"duplicate": func(w *Writer) error { _ = w.Add("x", one); return w.AddSlice("x", []int{1}, Slice{{0, 1}}, one) },
		"overlap": func(w *Writer) error {
			_ = w.AddSlice("x", []int{1}, Slice{{0, 1}}, one)
			return w.AddSlice("x", []int{1}, Slice{{0, -1}}, one)
		},
		"other shape": func(w *Writer) error {
			_ = w.AddSlice("x", []int{2}, Slice{{0, 1}}, one)
			return w.AddSlice("x", []int{3}, Slice{{1, 1}}, one)
		},
	} {
		m := atomicfile.NewMem("/d")
		w, _ := NewWriter(m, "/d/x", 1)
		err := errors.Join(add(w), w.Finish())
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
		if left, _ := m.ReadDir("/d"); len(left) != 0 {
			t.Errorf("%s: left over %v", name, left)
		}
	}
}

func TestWriterRefuses(t *testing.T) {
	for name, x := range map[string]*tensor.Tensor{
		"":       tensor.Scalar(float32(1)),
		"\x00x":  tensor.Scalar(float32(1)),
		"bytes":  {DType: tensor.Float32, Shape: []int{2}, Bytes: make([]byte, 4)},
		"string": {DType: tensor.String, Shape: []int{2}, Strings: make([][]byte, 1)},
		"type":   {DType: tensor.Variant},
	} {
		w, _ := NewWriter(atomicfile.NewMem("/d"), "/d/x", 1)
		if err := w.Add(name, x); err == nil {
			t.Errorf("%q is accepted", name)
		}
		w.Discard()
	}
	m := atomicfile.NewMem("/d")
	if _, err := NewWriter(m, "/d/x", 0); err == nil {
		t.Error("0 shards are accepted")
	}
	if _, err := NewWriter(m, "/no/x", 2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}

func TestOrderedCode(t *testing.T) {
	// Values from the format's definition (tensorflow/core/lib/strings/ordered_code.cc).
	for _, c := range []struct {
		v    int64
		want string
	}{
		{0, "80"}, {1, "81"}, {63, "bf"}, {-1, "7f"}, {-64, "40"}, {64, "c040"}, {-65, "3fbf"}, {8191, "dfff"},
		{8192, "e02000"}, {math.MaxInt64, "ffc07fffffffffffffff"}, {math.MinInt64, "003f8000000000000000"},
	} {
		if got := fmt.Sprintf("%x", appendSigned(nil, c.v)); got != c.want {
			t.Errorf("%d: got %s, want %s", c.v, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		if got := bytes.Compare(appendSigned(nil, a), appendSigned(nil, b)); (got < 0) != (a < b) {
			t.Fatalf("order of %d and %d", a, b)
		}
	})
	want := "00" + "6100ff62ff00" + "0001" + "0102" + "80" + "8a" + "80" + "7f"
	if got := fmt.Sprintf("%x", sliceKey("a\x00b\xff", Slice{{0, 10}, {0, -1}})); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNotFound(t *testing.T) {
	m := atomicfile.NewMem("/d")
	if _, err := Open(m, "/d/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("missing bundle: %v", err)
	}
	save(t, m, "/d/x", 1, map[string]*tensor.Tensor{"a": tensor.Scalar(1.5)})
	r, err := Open(m, "/d/x")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Tensor("b"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	if err := m.Remove("/d/x.data-00000-of-00001"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Tensor("a"); err != nil {
		t.Fatalf("an open bundle lost its data: %v", err)
	}
	if _, err := Open(m, "/d/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("missing data file: %v", err)
	}
}

func Example() {
	fsys := atomicfile.NewMem("/ckpt")
	w, err := NewWriter(fsys, "/ckpt/model", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = w.Add("bias", tensor.Scalar(float32(2)))
	if err := w.Finish(); err != nil {
		fmt.Println(err)
		return
	}
	r, err := Open(fsys, "/ckpt/model")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	x, err := r.Tensor("bias")
	fmt.Println(r.List()[0].Name, x.DType, tensor.Values[float32](x), err)
	// Output: bias float32 [2] <nil>
}
