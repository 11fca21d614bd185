package parquetfile

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"
)

var types = []arrow.DataType{
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16,
	arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Boolean,
	arrow.FixedWidthTypes.Float16, arrow.BinaryTypes.Binary, arrow.BinaryTypes.String,
}

// record has a column of each type and one of lists of it, by JSON.
func record(t *testing.T, size int32, json string) arrow.Record {
	t.Helper()
	var fields []arrow.Field
	for _, ty := range types {
		fields = append(fields, arrow.Field{Name: ty.Name(), Type: ty}, arrow.Field{Name: ty.Name() + "s", Type: arrow.FixedSizeListOf(size, ty)})
	}
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema(fields, nil), strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// row is a row of all columns in JSON, numbers and texts that differ by n.
func row(n int, size int) string {
	var b strings.Builder
	for i, ty := range types {
		value := string(rune('0' + n))
		switch ty.ID() {
		case arrow.BOOL:
			value = []string{"false", "true"}[n%2]
		case arrow.BINARY, arrow.STRING:
			value = `"YWI` + value + `"`
		}
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		list := strings.TrimSuffix(strings.Repeat(value+",", size), ",")
		b.WriteString(`"` + ty.Name() + `":` + value + `,"` + ty.Name() + `s":[` + list + `]`)
	}
	return b.String() + "}"
}

// TestReadsBack: Arrow's reader returns equal records of all types, slices too.
func TestReadsBack(t *testing.T) {
	for _, size := range []int{1, 3} {
		rec := record(t, int32(size), "["+row(1, size)+","+row(2, size)+","+row(9, size)+"]")
		for _, rec := range []arrow.Record{rec, rec.NewSlice(1, 3), rec.NewSlice(1, 1)} {
			var out bytes.Buffer
			w, err := NewWriter(&out, rec.Schema())
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Write(rec), w.Close()); err != nil {
				t.Fatal(err)
			}
			got := read(t, out.Bytes())
			if got.NumCols() != rec.NumCols() || got.NumRows() != rec.NumRows() {
				t.Fatalf("got %v, %d rows, expected %v, %d", got.Schema(), got.NumRows(), rec.Schema(), rec.NumRows())
			}
			want := array.NewTableFromRecords(rec.Schema(), []arrow.Record{rec})
			for i := range int(got.NumCols()) {
				if f := rec.Schema().Field(i); got.Column(i).Name() != f.Name || !arrow.TypeEqual(got.Column(i).DataType(), f.Type) {
					t.Errorf("got column %s of %v, expected %v", got.Column(i).Name(), got.Column(i).DataType(), f)
				}
				if d := cmp.Diff(text(t, want.Column(i).Data()), text(t, got.Column(i).Data())); d != "" {
					t.Errorf("column %s: -want +got\n%s", rec.ColumnName(i), d)
				}
			}
		}
	}
}

func text(t *testing.T, c *arrow.Chunked) string {
	if c.Len() == 0 {
		return "[]"
	}
	a, err := array.Concatenate(c.Chunks(), memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	return a.String()
}

func read(t *testing.T, b []byte) arrow.Table {
	t.Helper()
	f, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := r.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestRefused(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	dates := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.FixedWidthTypes.Date32}}, nil)
	for _, c := range []struct {
		file, record *arrow.Schema
		json, want   string
	}{
		{s, s, `[{"x": null}]`, "column x: it has nulls"},
		{dates, dates, `[{"x": "2026-01-02"}]`, "is not written"},
		{s, dates, `[{"x": "2026-01-02"}]`, "expected"},
	} {
		rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, c.record, strings.NewReader(c.json))
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(&bytes.Buffer{}, c.file)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(rec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, expected %q", err, c.want)
		}
	}
}
