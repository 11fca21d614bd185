package feature

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/testkit"
)

// golden is what testdata/generate.py recorded from TensorFlow 2.15.
type golden struct {
	Fingerprints [][2]string
	Digests      struct {
		Count    int
		Hash     string
		HashInts string `json:"hash_ints"`
		Cross    string
	}
	Cases     []goldenCase
	Keras     goldenKeras
	Variables map[string][]int
}

type goldenCase struct {
	Name     string
	Features map[string]goldenFeature
	Columns  []Spec
	IDs      map[string]struct {
		Name    string
		Buckets int
		Indices [][2]int
		Values  []int64
		Weights []float32
	}
	Dense    map[string]goldenDense
	All      *goldenDense
	Sequence map[string]struct {
		goldenDense
		Lengths []int
	}
}

type goldenDense struct {
	Name    string
	Columns []string
	Shape   []int
	Values  []float32
}

type goldenFeature struct {
	Strings []string
	Ints    []int64
	Floats  []float32
	Width   int
	Offsets []int32
}

func readGolden(t testing.TB) *golden {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(testkit.Root(), "inputs/feature/testdata/golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	g := &golden{}
	if err := json.Unmarshal(raw, g); err != nil {
		t.Fatal(err)
	}
	return g
}

func unbase64(t testing.TB, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// array returns the feature as an Arrow array.
func (f goldenFeature) array(t testing.TB) arrow.Array {
	t.Helper()
	var values arrow.Array
	switch {
	case f.Floats != nil:
		b := array.NewFloat32Builder(memory.DefaultAllocator)
		b.AppendValues(f.Floats, nil)
		values = b.NewArray()
	case f.Ints != nil:
		b := array.NewInt64Builder(memory.DefaultAllocator)
		b.AppendValues(f.Ints, nil)
		values = b.NewArray()
	default:
		b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
		for _, s := range f.Strings {
			b.Append(unbase64(t, s))
		}
		values = b.NewArray()
	}
	switch {
	case f.Offsets != nil:
		return lists(values.Data(), f.Offsets)
	case f.Width > 0:
		d := array.NewData(arrow.FixedSizeListOf(int32(f.Width), values.DataType()), values.Len()/f.Width, []*memory.Buffer{nil}, []arrow.ArrayData{values.Data()}, 0, 0)
		return array.MakeFromData(d)
	}
	return values
}

// record returns the features of a case as a record.
func (c goldenCase) record(t testing.TB) arrow.Record {
	t.Helper()
	var fields []arrow.Field
	var arrays []arrow.Array
	for name, f := range c.Features {
		a := f.array(t)
		fields, arrays = append(fields, arrow.Field{Name: name, Type: a.DataType(), Nullable: true}), append(arrays, a)
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), arrays, int64(arrays[0].Len()))
}

func (c goldenCase) column(t testing.TB, set *Set, name string) Column {
	t.Helper()
	cols, err := set.Columns(name)
	if err != nil {
		t.Fatal(err)
	}
	return cols[0]
}

func TestGoldenFingerprints(t *testing.T) {
	for i, f := range readGolden(t).Fingerprints {
		s := unbase64(t, f[0])
		want, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := Fingerprint64(s); got != want {
			t.Fatalf("fingerprint %d, of %d bytes: got %d, want %d", i, len(s), got, want)
		}
	}
}

// results runs columns on a record and returns the tensors by name.
func results(t testing.TB, cols Columns, rec arrow.Record) (*Plan, map[string]inputs.NamedTensor) {
	t.Helper()
	plan, err := New(cols)
	if err != nil {
		t.Fatal(err)
	}
	out, err := plan.Apply(context.Background(), rec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := inputs.SchemaFromArrow(out.Schema())
	if err != nil {
		t.Fatal(err)
	}
	tensors, err := inputs.Tensors(out, s)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]inputs.NamedTensor{}
	for _, nt := range tensors {
		by[nt.Name] = nt
	}
	return plan, by
}

func TestGoldenColumns(t *testing.T) {
	t.Chdir("testdata") // vocabulary files are relative to it
	for _, c := range readGolden(t).Cases {
		t.Run(c.Name, func(t *testing.T) {
			set, err := Build(c.Columns)
			if err != nil {
				t.Fatal(err)
			}
			rec := c.record(t)
			for name := range c.IDs {
				t.Run(name, func(t *testing.T) { c.checkIDs(t, c.column(t, set, name), name, rec) })
			}
			for name, want := range c.Dense {
				t.Run(name, func(t *testing.T) { checkDense(t, want, []Column{c.column(t, set, name)}, rec) })
			}
			if c.All != nil {
				cols, err := set.Columns(c.All.Columns...)
				if err != nil {
					t.Fatal(err)
				}
				t.Run("all", func(t *testing.T) { checkDense(t, *c.All, cols, rec) })
			}
			for name := range c.Sequence {
				t.Run(name, func(t *testing.T) { c.checkSequence(t, c.column(t, set, name), name, rec) })
			}
		})
	}
}

// checkIDs compares the ids of each row, without -1.
func (c goldenCase) checkIDs(t *testing.T, col Column, name string, rec arrow.Record) {
	want := c.IDs[name]
	plan, by := results(t, Columns{Linear: []Column{col}}, rec)
	lin, err := plan.Linear(1)
	if err != nil {
		t.Fatal(err)
	}
	in := lin[0]
	if in.Column != want.Name || in.Buckets != want.Buckets {
		t.Fatalf("column %q of %d buckets, want %q of %d", in.Column, in.Buckets, want.Name, want.Buckets)
	}
	rows := make([][]int64, rec.NumRows())
	weights := make([][]float32, rec.NumRows())
	for i, at := range want.Indices {
		if want.Values[i] < 0 {
			continue
		}
		rows[at[0]] = append(rows[at[0]], want.Values[i])
		if want.Weights != nil {
			weights[at[0]] = append(weights[at[0]], want.Weights[i])
		}
	}
	ids := by[in.Values]
	got := int64sOf(ids)
	for r := range rows {
		from, to := ids.Offsets[r], ids.Offsets[r+1]
		if diff := cmp.Diff(rows[r], append([]int64(nil), got[from:to]...)); diff != "" {
			t.Fatalf("row %d: ids differ (-want +got):\n%s", r, diff)
		}
		if want.Weights == nil {
			continue
		}
		w := arrow.Float32Traits.CastFromBytes(by[in.Weights].Tensor.Bytes)[from:to]
		for i := range w {
			if !near(w[i], weights[r][i]) {
				t.Fatalf("row %d: weights %v, want %v", r, w, weights[r])
			}
		}
	}
}

func int64sOf(nt inputs.NamedTensor) []int64 { return arrow.Int64Traits.CastFromBytes(nt.Tensor.Bytes) }

func floatsIn(nt inputs.NamedTensor) []float32 {
	return arrow.Float32Traits.CastFromBytes(nt.Tensor.Bytes)
}

func near(a, b float32) bool {
	return math.Abs(float64(a-b)) <= 2e-6*max(1, math.Abs(float64(b)))
}

// checkDense compares the concatenation of dense columns.
func checkDense(t *testing.T, want goldenDense, cols []Column, rec arrow.Record) {
	plan, by := results(t, Columns{Dense: cols}, rec)
	in := plan.Dense()
	if w := Width(in); w != want.Shape[1] {
		t.Fatalf("width %d, want %d", w, want.Shape[1])
	}
	if len(cols) == 1 && in[0].Column != want.Name {
		t.Fatalf("name %q, want %q", in[0].Column, want.Name)
	}
	for row := range int(rec.NumRows()) {
		var got []float32
		for _, i := range in {
			got = append(got, denseRow(i, by, row)...)
		}
		for j := range got {
			if w := want.Values[row*want.Shape[1]+j]; !near(got[j], w) {
				t.Fatalf("row %d, number %d: got %v, want %v", row, j, got[j], w)
			}
		}
	}
}

// denseRow computes what a model makes of an input.
func denseRow(in Input, by map[string]inputs.NamedTensor, row int) []float32 {
	if in.Kind == Numbers {
		return floatsIn(by[in.Values])[row*in.Width : (row+1)*in.Width]
	}
	ids := by[in.Values]
	from, to := ids.Offsets[row], ids.Offsets[row+1]
	var w []float32
	if in.Weights != "" {
		w = floatsIn(by[in.Weights])[from:to]
	}
	return combine(in, int64sOf(ids)[from:to], w)
}

// combine combines rows as Input documents it, with the tables of generate.py.
func combine(in Input, ids []int64, w []float32) []float32 {
	out := make([]float64, in.Width)
	var sum, squares float64
	for i, id := range ids {
		if id < 0 {
			continue
		}
		wi := 1.0
		if w != nil {
			wi = float64(w[i])
		}
		row, norm := make([]float64, in.Width), 0.0
		for c := range row {
			row[c] = float64((int(id)*31+c*17)%64-32) / 16
			norm += row[c] * row[c]
		}
		scale := 1.0
		if n := math.Sqrt(norm); in.MaxNorm > 0 && n > in.MaxNorm {
			scale = in.MaxNorm / n
		}
		for c := range row {
			out[c] += wi * row[c] * scale
		}
		sum, squares = sum+wi, squares+wi*wi
	}
	by := map[Combiner]float64{Mean: sum, SqrtN: math.Sqrt(squares), Sum: 1}[in.Combiner]
	res := make([]float32, in.Width)
	for c := range res {
		if by != 0 {
			res[c] = float32(out[c] / by)
		}
	}
	return res
}

// checkSequence compares padded sequences and their lengths.
func (c goldenCase) checkSequence(t *testing.T, col Column, name string, rec arrow.Record) {
	want := c.Sequence[name]
	plan, by := results(t, Columns{Sequence: []Column{col}}, rec)
	in := plan.Sequence()[0]
	if in.Column != want.Name || in.Width != want.Shape[2] {
		t.Fatalf("column %q of width %d, want %q of %d", in.Column, in.Width, want.Name, want.Shape[2])
	}
	steps, w := want.Shape[1], in.Width
	for row := range int(rec.NumRows()) {
		got := sequenceRow(in, by[in.Values], row)
		if len(got)/w != want.Lengths[row] {
			t.Fatalf("row %d: %d steps, want %d", row, len(got)/w, want.Lengths[row])
		}
		for len(got) < steps*w {
			got = append(got, in.Pad)
		}
		for j := range got {
			if x := want.Values[row*steps*w+j]; !near(got[j], x) {
				t.Fatalf("row %d, number %d: got %v, want %v", row, j, got[j], x)
			}
		}
	}
}

func sequenceRow(in Input, nt inputs.NamedTensor, row int) []float32 {
	from, to := nt.Offsets[row], nt.Offsets[row+1]
	if in.Kind == NumberSteps {
		return append([]float32(nil), floatsIn(nt)[from:to]...)
	}
	var out []float32
	for _, id := range int64sOf(nt)[from:to] {
		out = append(out, combine(in, []int64{id}, nil)...)
	}
	return out
}
