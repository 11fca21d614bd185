package inputs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/internal/format/npz"
)

// npyFile returns an array as numpy.save writes it.
func npyFile(descr, shape string, data []byte) []byte {
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape)
	return slices.Concat([]byte("\x93NUMPY\x01\x00"), binary.LittleEndian.AppendUint16(nil, uint16(len(head))), []byte(head), data)
}

// numpyX is the array of testdata/numpy/x.npy, [7, 3].
var numpyX = []float32{0, .5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9, 9.5, 10}

func TestNPY(t *testing.T) {
	for _, file := range []string{"x", "fortran", "big"} {
		ds := must[Indexed](t)(NPY([]string{"testdata/numpy/" + file + ".npy", "testdata/numpy/y.npy"}, ArrowOptions{Allocator: checked(t), Columns: []ColumnSpec{{Name: "x"}, {Name: "class", Role: Label}}}))
		if got := ds.Schema().String(); got != "x float32[3] feature, class int64 label" || ds.Len() != 7 {
			t.Fatalf("%s: %s, %d rows", file, got, ds.Len())
		}
		if d := cmp.Diff(numpyX, column[float32](t, ds, "x")); d != "" {
			t.Error(file, d)
		}
		if d := cmp.Diff([]int64{0, 1, 2, 0, 1, 2, 0}, column[int64](t, ds, "class")); d != "" {
			t.Error(file, d)
		}
		checkDataset(t, Pipe(ds, Shuffle(9, 1), Repeat(2), Batch(3, false), Prefetch(1)))
	}
	ds := must[Indexed](t)(NPY([]string{"testdata/numpy/x.npy", "testdata/numpy/y.npy"}, ArrowOptions{}))
	if got := ds.Schema().String(); got != "x float32[3] feature, y int64 feature" {
		t.Error(got)
	}
}

// TestNPZ: arrays of all types, stored and deflated, have the values from NumPy.
func TestNPZ(t *testing.T) {
	stored := must[Indexed](t)(NPZ([]string{"testdata/numpy/kinds.npz", "testdata/numpy/more.npz"}, ArrowOptions{Allocator: checked(t)}))
	const kinds = "be int32 feature, bits bool[3] feature, bool bool feature, cols float64[3] feature, f2 float16 feature, f4 float32 feature, f8 float64 feature, i1 int8 feature, " +
		"i2 int16 feature, i4 int32 feature, i8 int64 feature, u1 uint8 feature, u2 uint16 feature, u4 uint32 feature, u8 uint64 feature, vec float32[3] feature"
	if got := stored.Schema().String(); got != kinds || stored.Len() != 9 {
		t.Fatalf("%d rows of %s", stored.Len(), got)
	}
	deflated := must[Indexed](t)(NPZ([]string{"testdata/numpy/packed.npz"}, ArrowOptions{Allocator: checked(t)}))
	if d := cmp.Diff(drain(t, iterate(t, Pipe(stored, Take(7), Batch(1, false))), stored.Schema(), 99), drain(t, iterate(t, Pipe(deflated, Batch(1, false))), deflated.Schema(), 99)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int32{0, 1, 2, 0, 1, 2, 0, 0, 1}, column[int32](t, stored, "be")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]bool{false, true, false, true, false, true, false, false, true}, column[bool](t, stored, "bool")); d != "" {
		t.Error(d)
	}
	if got := column[float64](t, stored, "cols"); len(got) != 27 || got[4] != 2 || got[25] != 2 {
		t.Error(got)
	}
	checkDataset(t, Pipe(stored, Shuffle(4, 1), Batch(2, false), ParallelMap(Compose(), 2)))
}

func TestNumPySpec(t *testing.T) {
	dir := "testdata/numpy/"
	xy := []ColumnSpec{{Name: "vec"}, {Name: "i8", Role: Label, Vocabulary: []string{"0", "1"}}, {Name: "u1", DType: "float32"}}
	spec := Spec{Format: "npz", Files: []string{dir + "kinds.npz", dir + "more.npz"}, Columns: xy, BatchSize: 4}
	for mode, want := range map[Mode]string{Train: "vec float32[3] feature, i8 int64 label, u1 float32 feature", Predict: "vec float32[3] feature, u1 float32 feature"} {
		ds, err := Open(t.Context(), spec, Context{Mode: mode, Pipeline: 1, NumPipelines: 2, Allocator: checked(t)})
		if err != nil {
			t.Fatal(err)
		}
		if got := ds.Schema().String(); got != want {
			t.Errorf("%s: %s", mode, got)
		}
		if got := len(column[float32](t, ds, "u1")); got != 2 { // the second file
			t.Errorf("%s: %d rows", mode, got)
		}
	}
	npy := Spec{Format: "npy", Files: []string{dir + "x.npy"}, Columns: []ColumnSpec{{Name: "x"}, {Name: "y", Role: Label}}, BatchSize: 3}
	ds, err := Open(t.Context(), npy, Context{Mode: Predict})
	if err != nil || ds.Schema().String() != "x float32[3] feature" {
		t.Errorf("without the file of labels: %v", err)
	}
	if _, err := Open(t.Context(), npy, Context{Mode: Train}); err == nil || !strings.Contains(err.Error(), "1 files of format npy for 2 columns") {
		t.Errorf("got %v", err)
	}
}

func TestBadNumPy(t *testing.T) {
	dir := "testdata/numpy/"
	ones := npyFile("<f4", "(2,)", make([]byte, 8))
	npy := func(files ...string) Spec { return Spec{Format: "npy", Files: files} }
	of := func(data []byte) Spec { return npy(write(t, "x.npy", data)) }
	archive := func(columns ...ColumnSpec) Spec {
		return Spec{Format: "npz", Files: []string{dir + "kinds.npz"}, Columns: columns}
	}
	kinds, err := os.ReadFile(dir + "kinds.npz")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spec Spec
		want []string
	}{
		"text":          {npy(dir + "text.npy"), []string{"text.npy", `element type "<U2"`, "numbers or bools"}},
		"dates":         {npy(dir + "date.npy"), []string{"date.npy", `element type "<M8[D]"`}},
		"struct":        {npy(dir + "struct.npy"), []string{"struct.npy", "('a', '<f4')", "numbers or bools"}},
		"scalar":        {npy(dir + "scalar.npy"), []string{"scalar.npy", "single number"}},
		"complex":       {npy(dir + "complex.npy"), []string{"complex.npy", "complex64 cannot be held"}},
		"cut":           {of(ones[:len(ones)-1]), []string{"x.npy", "75 bytes for float32[2]", "cut short"}},
		"cut header":    {of(ones[:30]), []string{"x.npy", "header"}},
		"two arrays":    {of(append(bytes.Clone(ones), ones...)), []string{"x.npy", "holds more than one array"}},
		"huge":          {of(npyFile("<f4", "(4611686018427387904, 4)", nil)), []string{"x.npy", "is too large"}},
		"empty rows":    {of(npyFile("<f4", "(9223372036854775, 0)", nil)), []string{"x.npy", "dimensions must be positive"}},
		"no rows":       {of(npyFile("<f4", "(0, 2)", nil)), []string{"empty", "x.npy"}},
		"archive":       {npy(dir + "kinds.npz"), []string{"kinds.npz: this is a ZIP archive"}},
		"lengths":       {npy(dir+"x.npy", write(t, "z.npy", ones)), []string{"z.npy", `column "z"`, "2 rows", `column "x" has 7`}},
		"array":         {Spec{Format: "npz", Files: []string{dir + "x.npy"}}, []string{"x.npy: this is a NumPy array", "set format: npy"}},
		"no array":      {Spec{Format: "npz", Files: []string{write(t, "a.npz", []byte("PK\x05\x06"+strings.Repeat("\x00", 18)))}}, []string{"a.npz"}},
		"cut archive":   {Spec{Format: "npz", Files: []string{write(t, "a.npz", kinds[:len(kinds)/2])}}, []string{"a.npz"}},
		"unknown":       {archive(ColumnSpec{Name: "z"}), []string{"kinds.npz", `unknown column "z"`}},
		"label":         {archive(ColumnSpec{Name: "vec"}, ColumnSpec{Name: "i8", Role: Label, Vocabulary: []string{"1"}}), []string{"kinds.npz", `column "i8"`, "row 1 of the file", `unknown label "0"`}},
		"other schemas": {Spec{Format: "npz", Files: []string{dir + "kinds.npz", write(t, "b.npz", nil)}}, []string{"b.npz", "empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := readAll(c.spec, Context{Mode: Train, Allocator: checked(t)})
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %q, expected it to contain %q", err, w)
				}
			}
		})
	}
}

// TestNumPyChanges: a file that is truncated while it is read is an error that names the row.
func TestNumPyChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	if err := os.WriteFile(path, npyFile("<f4", "(4,)", make([]byte, 16)), 0o644); err != nil {
		t.Fatal(err)
	}
	ds := must[Indexed](t)(NPY([]string{path}, ArrowOptions{Allocator: checked(t)}))
	if err := os.Truncate(path, 64); err != nil {
		t.Fatal(err)
	}
	if _, err := ds.Gather(t.Context(), []int64{3, 2}); err == nil || !strings.Contains(err.Error(), `x.npy: row 4: column "x"`) {
		t.Errorf("got %v", err)
	}
}

func FuzzNPY(f *testing.F) {
	addFiles(f, "testdata/numpy/*.npy")
	addFiles(f, "testdata/numpy/*.npz")
	f.Fuzz(func(t *testing.T, data []byte) {
		open := NPZ
		if npz.IsNPY(data) {
			open = NPY
		}
		ds, err := open([]string{write(t, "fuzz.npy", data)}, ArrowOptions{Allocator: checked(t)})
		if err != nil {
			return
		}
		for _, row := range []int64{0, ds.Len() - 1, ds.Len() / 2} {
			if rec, err := ds.Gather(t.Context(), []int64{row, row}); err == nil {
				rec.Release()
			}
		}
	})
}
