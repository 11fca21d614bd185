package inputs

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// columnsFile writes the columns of a record, as a file.
func columnsFile(t *testing.T, fields []arrow.Field, columns ...arrow.Array) string {
	t.Helper()
	rec := array.NewRecord(arrow.NewSchema(fields, nil), columns, int64(columns[0].Len()))
	defer rec.Release()
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(rec.Schema()))
	if err := w.Write(rec); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return write(t, "t.arrow", b.Bytes())
}

// arrayOf returns an array of values in JSON.
func arrayOf(t *testing.T, dt arrow.DataType, text string) arrow.Array {
	t.Helper()
	a, _, err := array.FromJSON(checked(t), dt, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Release)
	return a
}

// TestFloatsAsIntegers: whole floats, as pandas writes integers beside missing ones, are integers and words of a vocabulary without an exponent.
func TestFloatsAsIntegers(t *testing.T) {
	const values = "[1234567, -4e15, 0, 1e6]"
	x := arrayOf(t, arrow.PrimitiveTypes.Float64, values)
	lists := arrayOf(t, arrow.ListOf(arrow.PrimitiveTypes.Float64), "[[1234567], [], [2, 3e6], [0]]")
	file := columnsFile(t, []arrow.Field{{Name: "x", Type: x.DataType()}, {Name: "l", Type: lists.DataType()}}, x, lists)
	read := func(s ColumnSpec) Dataset {
		t.Helper()
		return must[Dataset](t)(ArrowFile([]string{file}, ArrowOptions{Columns: []ColumnSpec{s}}))
	}
	if got := column[int64](t, read(ColumnSpec{Name: "x", DType: "int64"}), "x"); !slices.Equal(got, []int64{1234567, -4e15, 0, 1e6}) {
		t.Errorf("got %v", got)
	}
	if got := column[int64](t, read(ColumnSpec{Name: "x", Vocabulary: []string{"0", "1e+06", "1234567"}}), "x"); !slices.Equal(got, []int64{2, -1, 0, 1}) {
		t.Errorf("by vocabulary: got %v", got)
	}
	if got := column[int64](t, read(ColumnSpec{Name: "l", Vocabulary: []string{"0", "1234567", "3000000"}}), "l"); !slices.Equal(got, []int64{1, -1, 2, 0}) {
		t.Errorf("lists: got %v", got)
	}
	text := read(ColumnSpec{Name: "x", DType: "string"})
	if got := drain(t, iterate(t, text), text.Schema(), 4); !strings.Contains(strings.Join(got, " "), "1.234567e+06") {
		t.Errorf("as text: got %v", got)
	}
}

// TestFloatFeaturesAsIntegers is the same for examples, read in blocks and one by one.
func TestFloatFeaturesAsIntegers(t *testing.T) {
	file := records(t, map[string]any{"x": []float32{1234567}, "k": []float32{3e6}, "s": []float32{1e6}}, map[string]any{"x": []float32{-8e6}, "k": []float32{2}, "s": []float32{1}})
	ds := openTFRecord(t, []ColumnSpec{{Name: "x", DType: "int64"}, {Name: "k", Vocabulary: []string{"2", "3000000"}}, {Name: "s", DType: "string"}}, file)
	if got := column[int64](t, ds, "x"); !slices.Equal(got, []int64{1234567, -8e6}) {
		t.Errorf("got %v", got)
	}
	if got := column[int64](t, ds, "k"); !slices.Equal(got, []int64{1, 0}) {
		t.Errorf("by vocabulary: got %v", got)
	}
	if got := drain(t, iterate(t, ds), ds.Schema(), 4); !strings.Contains(strings.Join(got, " "), "1e+06") {
		t.Errorf("as text: got %v", got)
	}
}

// TestNullsOfDictionaries: a value is null if its dictionary has null for it.
func TestNullsOfDictionaries(t *testing.T) {
	words := arrayOf(t, arrow.BinaryTypes.String, `["a", null, "b"]`)
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	x := array.NewDictionaryArray(dt, arrayOf(t, arrow.PrimitiveTypes.Int8, "[0, 1, 2, null]"), words)
	defer x.Release()
	file := columnsFile(t, []arrow.Field{{Name: "x", Type: dt, Nullable: true}}, x)
	ds := must[Dataset](t)(ArrowFile([]string{file}, ArrowOptions{Columns: []ColumnSpec{{Name: "x", Vocabulary: []string{"a", "b", ""}, Default: "b"}}}))
	if got := column[int64](t, ds, "x"); !slices.Equal(got, []int64{0, 1, 1, 1}) {
		t.Errorf("got %v", got)
	}
	_, err := drainAll(must[Dataset](t)(ArrowFile([]string{file}, ArrowOptions{})))
	if err == nil || !strings.Contains(err.Error(), "row 2 of the file: value is null") {
		t.Errorf("without a default: got %v", err)
	}
}

// TestColumnsOfOneName: the error of a name that several columns of a file have says so.
func TestColumnsOfOneName(t *testing.T) {
	x := arrayOf(t, arrow.PrimitiveTypes.Int64, "[1, 2]")
	file := columnsFile(t, []arrow.Field{{Name: "x", Type: x.DataType()}, {Name: "y", Type: x.DataType()}, {Name: "x", Type: x.DataType()}}, x, x, x)
	if _, err := ArrowFile([]string{file}, ArrowOptions{}); err == nil || !strings.Contains(err.Error(), `column "x" is in the file 2 times`) {
		t.Errorf("got %v", err)
	}
	ds := must[Dataset](t)(ArrowFile([]string{file}, ArrowOptions{Columns: []ColumnSpec{{Name: "y"}}}))
	if got := column[int64](t, ds, "y"); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("got %v", got)
	}
}

// TestNullsInLists: a null within a list is an error of its row in all types, which on_error can leave out.
func TestNullsInLists(t *testing.T) {
	ragged := arrayOf(t, arrow.ListOf(arrow.PrimitiveTypes.Int64), "[[1], [2, 3], [4, null], [], [5]]")
	pairs := arrayOf(t, arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), "[[1, 2], [null, 4], [5, 6], [7, 8], [9, 10]]")
	file := columnsFile(t, []arrow.Field{{Name: "ragged", Type: ragged.DataType()}, {Name: "pairs", Type: pairs.DataType()}}, ragged, pairs)
	for name, want := range map[string]string{"ragged": "row 3 of the file: list holds null", "pairs": "row 2 of the file: list holds null"} {
		columns := []ColumnSpec{{Name: name}}
		_, err := drainAll(must[Dataset](t)(ArrowFile([]string{file}, ArrowOptions{Columns: columns})))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, expected %q", name, err, want)
		}
		damaged := &Damaged{}
		n, err := drainAll(must[Dataset](t)(ArrowFile([]string{file}, ArrowOptions{Columns: columns, Damaged: damaged})))
		if err != nil || n != 4 || damaged.Count() != 1 {
			t.Errorf("%s: %d rows, %d left out, %v", name, n, damaged.Count(), err)
		}
	}
}
