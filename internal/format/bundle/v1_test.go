package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/syndtr/goleveldb/leveldb/table"
	slicespb "github.com/wamuir/graft/tensorflow/core/util/saved_tensor_slice_proto_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// v1Kinds returns the tensors of testdata/v1/kinds, which TensorFlow 2.15 wrote with Save, in its order.
func v1Kinds(t *testing.T) (names []string, all map[string]*tensor.Tensor) {
	t.Helper()
	all = map[string]*tensor.Tensor{}
	add := func(name string, x *tensor.Tensor) { names, all[name] = append(names, name), x }
	add("bool", &tensor.Tensor{DType: tensor.Bool, Shape: []int{2}, Bytes: []byte{1, 0}})
	add("complex", &tensor.Tensor{DType: tensor.Complex64, Shape: []int{1}, Bytes: []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}})
	add("double", v1Of(t, []float64{1e300, math.Copysign(0, -1)}, 2))
	add("empty", tensor.New(tensor.Float32, 0, 2))
	add("float", v1Of(t, []float32{1.5, -2, 0}, 1, 3))
	add("half", &tensor.Tensor{DType: tensor.Float16, Shape: []int{2}, Bytes: []byte{0x00, 0x3e, 0x66, 0xae}})
	add("int16", v1Of(t, []int16{-3, 9}, 2))
	add("int32", v1Of(t, []int32{-7, math.MaxInt32}, 2))
	add("int64", v1Of(t, []int64{math.MinInt64, 5}, 2))
	add("int8", v1Of(t, []int8{-128, 127}, 2))
	add("scalar", v1Of(t, []float32{3}))
	text, err := tensor.FromStrings([][]byte{[]byte("a"), {}, {0xff, 0}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	add("text", text)
	add("uint16", v1Of(t, []uint16{65535}, 1))
	add("uint8", v1Of(t, []uint8{0, 255}, 2))
	return names, all
}

func v1Of[T tensor.Element](t *testing.T, values []T, shape ...int) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromSlice(values, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestV1IsTensorFlows: files of TensorFlow are read, and the same tensors give the same files.
func TestV1IsTensorFlows(t *testing.T) {
	dir := filepath.Join("testdata", "v1")
	names, want := v1Kinds(t)
	r, err := OpenV1(atomicfile.OS{}, []string{filepath.Join(dir, "kinds")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w := NewV1Writer()
	for _, name := range names {
		x, err := r.Tensor(name)
		if err != nil || fmt.Sprint(x) != fmt.Sprint(want[name]) {
			t.Errorf("%s: got %v, %v, expected %v", name, x, err, want[name])
		}
		if err := w.Add(name, want[name]); err != nil {
			t.Error(err)
		}
	}
	sameFile(t, w, filepath.Join(dir, "kinds"))
	if _, err := r.Tensor("none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}

	parts := []string{filepath.Join(dir, "part-00000-of-00002"), filepath.Join(dir, "part-00001-of-00002")}
	whole, err := OpenV1(atomicfile.OS{}, parts, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	full := v1Of(t, []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 4, 3)
	if x, err := whole.Tensor("w"); err != nil || fmt.Sprint(x) != fmt.Sprint(full) {
		t.Errorf("got %v, %v", x, err)
	}
	w = NewV1Writer()
	if err := w.AddSlice("w", []int{4, 3}, Slice{{Start: 2, Length: 2}, {Length: -1}}, v1Of(t, []float32{6, 7, 8, 9, 10, 11}, 2, 3)); err != nil {
		t.Fatal(err)
	}
	sameFile(t, w, parts[1])

	half, err := OpenV1(atomicfile.OS{}, parts[:1], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	var corrupt *CorruptError
	if _, err := half.Tensor("w"); !errors.As(err, &corrupt) {
		t.Errorf("half of a tensor: got %v", err)
	}
}

func sameFile(t *testing.T, w *V1Writer, path string) {
	t.Helper()
	own := filepath.Join(t.TempDir(), "own")
	if err := w.Write(atomicfile.OS{}, own); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got %d other bytes, TensorFlow's are %d:\n%q\n%q", path, len(got), len(want), got, want)
	}
}

// TestV1Damaged: a file with a changed byte, or a truncated one, is refused or reads the same; the memory paid for is in proportion to the file.
func TestV1Damaged(t *testing.T) {
	good, err := os.ReadFile(filepath.Join("testdata", "v1", "kinds"))
	if err != nil {
		t.Fatal(err)
	}
	names, want := v1Kinds(t)
	try := func(what string, b []byte) {
		fsys := atomicfile.NewMem()
		if err := atomicfile.WriteFile(fsys, "x", b); err != nil {
			t.Fatal(err)
		}
		paid := 0
		r, err := OpenV1(fsys, []string{"x"}, func(n int) error { paid += n; return nil })
		if err != nil {
			return
		}
		defer r.Close()
		for _, name := range names {
			if x, err := r.Tensor(name); err == nil && fmt.Sprint(x) != fmt.Sprint(want[name]) {
				t.Errorf("%s: %s is %v", what, name, x)
			}
		}
		if paid > 1<<20 {
			t.Errorf("%s: %d bytes were paid for", what, paid)
		}
	}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 0x41
		try(fmt.Sprintf("byte %d", i), b)
		try(fmt.Sprintf("%d bytes", i), good[:i])
	}
}

// TestV1Refuses: tensors that contradict the format or their other slices, missing files, and too little memory.
func TestV1Refuses(t *testing.T) {
	w := NewV1Writer()
	x := v1Of(t, []float32{1, 2}, 2)
	if err := w.AddSlice("s", []int{4}, Slice{{Length: 2}}, x); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"type":      w.Add("u", tensor.New(tensor.Uint32, 1)),
		"shape":     w.AddSlice("s", []int{4}, Slice{{Length: 3}}, x),
		"outside":   w.AddSlice("s", []int{1}, Slice{{Length: 2}}, x),
		"twice":     w.AddSlice("s", []int{4}, Slice{{Length: 2}}, x),
		"otherwise": w.AddSlice("s", []int{5}, Slice{{Start: 2, Length: 2}}, x),
	} {
		if err == nil {
			t.Errorf("%s: added", name)
		}
	}
	if _, err := OpenV1(atomicfile.NewMem(), []string{"none"}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	poor := errors.New("no memory")
	if _, err := OpenV1(atomicfile.OS{}, []string{filepath.Join("testdata", "v1", "kinds")}, func(n int) error {
		if n > 100 {
			return poor
		}
		return nil
	}); !errors.Is(err, poor) {
		t.Errorf("got %v", err)
	}
}

// TestV1EntriesPaid: the keys of a table, which a file stores shortened, and elements that are larger than in a message, are paid for.
func TestV1EntriesPaid(t *testing.T) {
	const n, long = 1 << 10, 1000
	var file bytes.Buffer
	w := table.NewWriter(&file, tableOptions)
	list, err := proto.Marshal(&slicespb.SavedTensorSlices{Meta: &slicespb.SavedTensorSliceMeta{}})
	if err == nil {
		err = w.Append(nil, list)
	}
	for i := range n {
		err = errors.Join(err, w.Append(fmt.Appendf(nil, "%s%06d", strings.Repeat("k", long), i), nil))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if paid := v1Paid(t, file.Bytes(), ""); paid < n*long {
		t.Errorf("a table with %d bytes of keys: %d bytes were paid for", n*long, paid)
	}

	own := NewV1Writer()
	const zeros = 1 << 16
	if err := own.Add("x", tensor.New(tensor.Int64, zeros)); err != nil {
		t.Fatal(err)
	}
	fsys := atomicfile.NewMem()
	if err := own.Write(fsys, "x"); err != nil {
		t.Fatal(err)
	}
	whole, err := atomicfile.ReadFile(fsys, "x")
	if err != nil {
		t.Fatal(err)
	}
	if paid := v1Paid(t, whole, "x") - v1Paid(t, whole, ""); paid < 2*8*zeros { // in the message and in the tensor
		t.Errorf("%d numbers of 8 bytes: %d bytes were paid for", zeros, paid)
	}
}

// v1Paid returns the bytes paid for to open a file and to read a tensor; name "" reads none.
func v1Paid(t *testing.T, file []byte, name string) (paid int) {
	t.Helper()
	fsys := atomicfile.NewMem()
	if err := atomicfile.WriteFile(fsys, "x", file); err != nil {
		t.Fatal(err)
	}
	r, err := OpenV1(fsys, []string{"x"}, func(n int) error { paid += n; return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if name != "" {
		if _, err := r.Tensor(name); err != nil {
			t.Fatal(err)
		}
	}
	return paid
}
