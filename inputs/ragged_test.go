package inputs

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// raggedText reads a ragged column to its end and prints its rows.
func raggedText(t *testing.T, ds Dataset, name string) string {
	t.Helper()
	it, out := iterate(t, ds), []string{}
	for {
		rec, err := it.Next(context.Background())
		if eof(err) {
			return strings.Join(out, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		ts, err := Tensors(rec, ds.Schema())
		if err != nil {
			t.Fatal(err)
		}
		x := ts[ds.Schema().Index(name)]
		for i := range rec.NumRows() {
			out = append(out, fmt.Sprint(cellsOf(x, int(x.Offsets[i]), int(x.Offsets[i+1]))))
		}
		rec.Release()
	}
}

// listFile returns an Arrow file with a column "r" of lists of strings; nil is a null.
func listFile(t *testing.T, lists ...[]string) []byte {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{{Name: "r", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}, {Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for i, l := range lists {
		list := b.Field(0).(*array.ListBuilder)
		list.Append(l != nil)
		for _, v := range l {
			if v == "null" {
				list.ValueBuilder().AppendNull()
				continue
			}
			list.ValueBuilder().(*array.StringBuilder).Append(v)
		}
		b.Field(1).(*array.Int64Builder).Append(int64(i))
	}
	rec := b.NewRecord()
	defer rec.Release()
	return ipcFile(t, rec)
}

func ipcFile(t *testing.T, rec arrow.Record) []byte {
	t.Helper()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(rec.Schema()))
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestRaggedColumns(t *testing.T) {
	lines := `{"r": ["1", "02"]}
{}
{"r": []}
{"r": null}
{"r": ["3"]}`
	files := map[string][]byte{"jsonl": []byte(lines), "arrow": listFile(t, []string{"1", "02"}, nil, []string{}, nil, []string{"3"})}
	for format, data := range files {
		for _, c := range []struct {
			column ColumnSpec
			want   string
		}{
			{ColumnSpec{DType: "string"}, "[1 02] [] [] [] [3]"}, {ColumnSpec{DType: "int64"}, "[1 2] [] [] [] [3]"},
			{ColumnSpec{DType: "float64"}, "[1 2] [] [] [] [3]"}, {ColumnSpec{Vocabulary: []string{"3", "1"}}, "[1 -1] [] [] [] [0]"},
		} {
			c.column.Name, c.column.Ragged = "r", true
			ds, err := Open(context.Background(), Spec{Format: format, Files: []string{write(t, "f", data)}, Columns: []ColumnSpec{c.column}, BatchSize: 3},
				Context{Allocator: checked(t)})
			if err != nil {
				t.Fatal(err)
			}
			got := raggedText(t, ds, "r")
			if got != c.want {
				t.Errorf("%s, %s %v: got %s, expected %s", format, c.column.DType, c.column.Vocabulary, got, c.want)
			}
			checkDataset(t, ds)
			checkDataset(t, Pipe(ds, Shuffle(4, 1), Batch(2, false)))
		}
	}
}

// TestListsOfOtherKinds reads lists in the forms of other libraries: with 64-bit
// offsets, and of dictionaries.
func TestListsOfOtherKinds(t *testing.T) {
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	s := arrow.NewSchema([]arrow.Field{{Name: "large", Type: arrow.LargeListOf(arrow.BinaryTypes.LargeString), Nullable: true}, {Name: "words", Type: arrow.ListOf(words), Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for _, l := range [][]string{{"x", "y"}, nil, {"y"}} {
		large, list := b.Field(0).(*array.LargeListBuilder), b.Field(1).(*array.ListBuilder)
		large.Append(l != nil)
		list.Append(l != nil)
		for _, v := range l {
			large.ValueBuilder().(*array.LargeStringBuilder).Append(v)
			if err := list.ValueBuilder().(*array.BinaryDictionaryBuilder).AppendString(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	rec := b.NewRecord()
	defer rec.Release()
	file := write(t, "f", ipcFile(t, rec))
	for _, name := range []string{"large", "words"} {
		ds, err := ArrowFile([]string{file}, ArrowOptions{Columns: []ColumnSpec{{Name: name}}, Allocator: checked(t)})
		if err != nil {
			t.Fatal(err)
		}
		if got := raggedText(t, ds, name); got != "[x y] [] [y]" {
			t.Errorf("%s: got %s", name, got)
		}
		spec := Spec{Format: "arrow", Files: []string{file}, Columns: []ColumnSpec{{Name: name, Shape: []int{2}}}, Take: 1}
		if err := readAll(spec, Context{Allocator: checked(t)}); err == nil || !strings.Contains(err.Error(), "column \""+name) {
			t.Errorf("%s with a shape: got %v", name, err)
		}
	}
}

func TestBadRaggedColumns(t *testing.T) {
	tags := ColumnSpec{Name: "r", DType: "int64", Ragged: true}
	label := tags
	label.Role = Label
	for name, c := range map[string]struct {
		format string
		data   string
		column ColumnSpec
		want   string
	}{
		"scalar":       {"jsonl", `{"r": 1}`, tags, `f:1: column "r": value is not a list`},
		"nested":       {"jsonl", "{\"r\": [1]}\n{\"r\": [1, [2]]}", tags, `f:2: column "r": value holds a list within the list`},
		"null":         {"jsonl", `{"r": [1, null]}`, tags, `f:1: column "r": value holds null`},
		"object":       {"jsonl", `{"r": [{}]}`, tags, `f:1: column "r": value is an object`},
		"value":        {"jsonl", `{"r": [1, 2.5]}`, tags, `f:1: column "r": value "2.5" is not an int64 number`},
		"label":        {"jsonl", "{\"r\": []}\n{}", label, `f:2: column "r": value is missing: a label needs its list`},
		"vocabulary":   {"jsonl", `{"r": ["b"]}`, ColumnSpec{Name: "r", Ragged: true, Role: Label, Vocabulary: []string{"a"}}, `f:1: column "r": unknown label "b"`},
		"default":      {"jsonl", `{"r": [1]}`, ColumnSpec{Name: "r", Ragged: true, Default: 1}, `column "r": a ragged column has no default`},
		"csv":          {"csv", `1`, tags, `column "r": csv has no lists`},
		"arrow scalar": {"arrow", string(listFile(t, []string{"1"})), ColumnSpec{Name: "x", Ragged: true}, `column "x": ragged is set, but it is x int64 feature`},
		"arrow null":   {"arrow", string(listFile(t, []string{"1"}, []string{"1", "null"})), tags, `column "r": row 2 of the file: list holds null`},
		"arrow value":  {"arrow", string(listFile(t, []string{"1"}, []string{"q"})), tags, `column "r": row 2 of the file: value "q" is not an int64 number`},
		"arrow label":  {"arrow", string(listFile(t, []string{"1"}, nil)), label, `column "r": row 2 of the file: value is missing: a label needs its list`},
		"arrow default": {"arrow", string(listFile(t, []string{"1"})), ColumnSpec{Name: "r", Default: 1},
			`column "r": a ragged column has no default`},
	} {
		err := readAll(Spec{Format: c.format, Files: []string{write(t, "f", []byte(c.data))}, Columns: []ColumnSpec{c.column}}, Context{Allocator: checked(t)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, expected %q", name, err, c.want)
		}
	}
}

// TestMissingVectorsTakeTheDefault: each element of a missing vector is the default.
func TestMissingVectorsTakeTheDefault(t *testing.T) {
	ds, err := JSONL([]string{write(t, "f", []byte("{\"v\": [1, null]}\n{}\n"))}, ArrowOptions{Columns: []ColumnSpec{{Name: "v", Shape: []int{2}, Default: 7}}, Allocator: checked(t)})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(column[float32](t, ds, "v")); got != "[1 7 7 7]" {
		t.Errorf("got %s", got)
	}
}
