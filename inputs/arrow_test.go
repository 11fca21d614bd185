package inputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

var pyColumns = []ColumnSpec{
	{Name: "f32"}, {Name: "f64", DType: "float32"}, {Name: "i64", Role: Label}, {Name: "i32"}, {Name: "u8"}, {Name: "flag"}, {Name: "word"},
	{Name: "large"}, {Name: "category", Vocabulary: []string{"béta", "alpha"}}, {Name: "gap", Default: -1.5}, {Name: "ragged"},
	{Name: "pair", Shape: []int{1, 2}}, {Name: "fixed"}, {Name: "when", Role: Ignore},
}

// pyRow returns row i of the files that testdata/write_fixtures.py writes, printed.
func pyRow(i int) string {
	words := []string{"alpha", "béta", "", "delta"}
	gap := float64(i)
	if i%5 == 0 {
		gap = -1.5
	}
	ragged := make([]int64, i%4)
	for k := range ragged {
		ragged[k] = int64(k)
	}
	f := float32(i)
	return fmt.Sprintln(f/4, float32(float64(i)*1.1), i-25, i*1000, i*5, i%3 == 0, words[i%4], words[i%4], 1-i%2, gap, ragged,
		[]float32{f, float32(-i)}, []float32{f, f + 1, f + 2})
}

// printRow prints row i of tensors in pyRow's form.
func printRow(ts []NamedTensor, i int) string {
	var parts []any
	for _, x := range ts {
		from, to := i, i+1
		if x.Offsets != nil {
			from, to = int(x.Offsets[i]), int(x.Offsets[i+1])
		} else if len(x.Tensor.Shape) > 1 {
			n := x.Tensor.Len() / x.Tensor.Shape[0]
			from, to = i*n, (i+1)*n
		}
		parts = append(parts, cellsOf(x, from, to))
	}
	return strings.TrimSuffix(fmt.Sprintln(parts...), "\n")
}

func cellsOf(x NamedTensor, from, to int) any {
	scalar := len(x.Tensor.Shape) == 1 && x.Offsets == nil
	switch x.Tensor.DType {
	case tensor.String:
		return some(texts(x.Tensor.Strings[from:to]), 0, to-from, scalar)
	case tensor.Bool:
		return tensor.Values[bool](x.Tensor)[from]
	case tensor.Float32:
		return some(tensor.Values[float32](x.Tensor), from, to, scalar)
	case tensor.Float64:
		return some(tensor.Values[float64](x.Tensor), from, to, scalar)
	case tensor.Int64:
		return some(tensor.Values[int64](x.Tensor), from, to, scalar)
	case tensor.Int32:
		return some(tensor.Values[int32](x.Tensor), from, to, scalar)
	case tensor.Uint8:
		return some(tensor.Values[uint8](x.Tensor), from, to, scalar)
	}
	return "?"
}

func texts(list [][]byte) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

func some[T any](v []T, from, to int, scalar bool) any {
	if scalar {
		return v[from]
	}
	return v[from:to]
}

// TestParquetUnread: codecs and encodings that the library cannot read are refused by name; other columns of the file are read.
func TestParquetUnread(t *testing.T) {
	spec := Spec{Format: "parquet", Files: []string{filepath.Join("testdata", "unread.parquet")}, Columns: []ColumnSpec{{Name: "id"}}, BatchSize: 2}
	ds := must[Dataset](t)(Open(t.Context(), spec, Context{Allocator: checked(t)}))
	if got := column[int64](t, ds, "id"); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("got %v", got)
	}
	for name, want := range map[string]string{
		"packed": `unread.parquet: column "packed" of type BYTE_ARRAY is compressed with LZ4_RAW, which is not read`,
		"split":  `unread.parquet: column "split" of type DOUBLE has the encoding BYTE_STREAM_SPLIT, which is not read`,
	} {
		spec.Columns = []ColumnSpec{{Name: name}}
		if err := readAll(spec, Context{Mode: Train, Allocator: checked(t)}); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

func TestPyarrowFiles(t *testing.T) {
	testkit.NotConcurrent(t)
	for _, name := range []string{"snappy.parquet", "zstd.parquet", "lz4.arrow", "plain.arrow", "stream.arrow"} {
		t.Run(name, func(t *testing.T) {
			open := ArrowFile
			if strings.HasSuffix(name, "parquet") {
				open = Parquet
			}
			ds, err := open([]string{filepath.Join("testdata", name)}, ArrowOptions{Columns: pyColumns, Allocator: checked(t)})
			if err != nil {
				t.Fatal(err)
			}
			row := 0
			it := iterate(t, Pipe(ds, Batch(8, false)))
			for {
				rec, err := it.Next(context.Background())
				if eof(err) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				ts, err := Tensors(rec, ds.Schema())
				if err != nil {
					t.Fatal(err)
				}
				for i := range int(rec.NumRows()) {
					want := pyRow(row)
					if got := printRow(ts, i); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
						t.Fatalf("row %d: got %s, expected %s", row, got, want)
					}
					row++
				}
				rec.Release()
			}
			if row != 50 {
				t.Errorf("%d rows", row)
			}
			checkDataset(t, Pipe(ds, Shuffle(20, 1), Batch(6, false), Prefetch(1)))
			checkDataset(t, ds)
		})
	}
}

func TestArrowFileErrors(t *testing.T) {
	file := []string{filepath.Join("testdata", "plain.arrow")}
	for want, columns := range map[string][]ColumnSpec{
		`unknown column "nope": expected one of f32, f64`:                   {{Name: "nope"}},
		`column "when": Arrow type timestamp[s] has no tensor form`:         nil,
		`row 1 of the file: value is null: give the column a default`:       {{Name: "gap"}},
		`column "fixed": shape [2] does not fit`:                            {{Name: "fixed", Shape: []int{2}}},
		`column "pair": row 1 of the file: list has 2 elements, expected 3`: {{Name: "pair", Shape: []int{3}}},
		`row 2 of the file: unknown label "béta", expected one of alpha`:    {{Name: "word", Role: Label, Vocabulary: []string{"alpha"}}},
		`row 2 of the file: value "1.1" is not an int64 number`:             {{Name: "f64", DType: "int64"}},
		`column "fixed": vectors are read as they are, and it is`:           {{Name: "fixed", DType: "int64"}},
		`column "word": "a" occurs twice in its vocabulary`:                 {{Name: "word", Vocabulary: []string{"a", "b", "a"}}},
	} {
		spec := Spec{Format: "arrow", Files: file, Columns: columns}
		if err := readAll(spec, Context{Allocator: checked(t)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// TestScalarsInAShape reads a column of scalars as vectors of one element.
func TestScalarsInAShape(t *testing.T) {
	for _, dtype := range []string{"", "float32"} {
		columns := []ColumnSpec{{Name: "f64", DType: dtype, Shape: []int{1}}}
		ds, err := ArrowFile([]string{filepath.Join("testdata", "plain.arrow")}, ArrowOptions{Columns: columns, Allocator: checked(t)})
		if err != nil {
			t.Fatal(err)
		}
		checkDataset(t, Pipe(ds, Batch(6, false)))
	}
}

// TestArrowRoundTrip writes our own records with their metadata and reads them back.
func TestArrowRoundTrip(t *testing.T) {
	src, err := Glyphs(1, 30, nil)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := src.Gather(context.Background(), seq(30))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	var stream, pqt bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(rec.Schema()))
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	props := pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema())
	pw, err := pqarrow.NewFileWriter(rec.Schema(), &pqt, parquet.NewWriterProperties(), props)
	if err != nil {
		t.Fatal(err)
	}
	if err := pw.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := pw.Close(); err != nil {
		t.Fatal(err)
	}
	mem := checked(t)
	fromArrow, err := ArrowFile([]string{write(t, "g.arrow.gz", packed(t, stream.Bytes()))}, ArrowOptions{Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	fromParquet, err := Parquet([]string{write(t, "g.parquet.gz", packed(t, pqt.Bytes()))}, ArrowOptions{Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	want := drain(t, iterate(t, Pipe(src, Batch(30, false))), src.Schema(), 9)
	for _, ds := range []Dataset{fromArrow, fromParquet} {
		if !ds.Schema().Equal(src.Schema()) {
			t.Errorf("schema %s, expected %s", ds.Schema(), src.Schema())
			continue
		}
		if d := cmp.Diff(want, drain(t, iterate(t, Pipe(ds, Batch(30, false))), ds.Schema(), 9)); d != "" {
			t.Errorf("%.300s", d)
		}
	}
}

func TestTensorsAreViews(t *testing.T) {
	src := numbers(t, memory.DefaultAllocator, 10)
	rec, err := src.Gather(context.Background(), seq(10))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	part := rec.NewSlice(3, 7)
	defer part.Release()
	ts, err := Tensors(part, src.Schema())
	if err != nil {
		t.Fatal(err)
	}
	buf := rec.Column(0).(*array.FixedSizeList).ListValues().Data().Buffers()[1].Bytes()
	if &ts[0].Tensor.Bytes[0] != &buf[3*8] || tensor.Values[int64](ts[1].Tensor)[0] != 3 {
		t.Error("the tensor is not a view of the record")
	}
}

func TestTensorsRefuseNulls(t *testing.T) {
	b := array.NewRecordBuilder(checked(t), arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Float32, Nullable: true}}, nil))
	defer b.Release()
	b.Field(0).(*array.Float32Builder).AppendValues([]float32{1, 2, 3}, []bool{true, true, false})
	rec := b.NewRecord()
	defer rec.Release()
	s, err := SchemaFromArrow(rec.Schema())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Tensors(rec, s); err == nil || !strings.Contains(err.Error(), `column "x": 1 of 3 rows are null, the first is row 3`) {
		t.Errorf("got %v", err)
	}
}

func TestOneSchemaForAllFiles(t *testing.T) {
	a, err := os.ReadFile("testdata/plain.arrow")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	s := arrow.NewSchema([]arrow.Field{{Name: "f32", Type: arrow.PrimitiveTypes.Int8}}, nil)
	if err := ipc.NewWriter(&b, ipc.WithSchema(s)).Close(); err != nil {
		t.Fatal(err)
	}
	spec := Spec{Format: "arrow", Files: []string{write(t, "a", a), write(t, "b", b.Bytes())}, Columns: []ColumnSpec{{Name: "f32"}}}
	if err := readAll(spec, Context{}); err == nil || !strings.Contains(err.Error(), "name files of one schema") {
		t.Errorf("got %v", err)
	}
}
