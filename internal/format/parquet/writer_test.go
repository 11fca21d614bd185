package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"pgregory.net/rapid"
)

// drawTensors draws a record of the types that tensors become: values, lists and fixed-size lists, without nulls.
func drawTensors(t *rapid.T) arrow.Record {
	types := []arrow.DataType{
		arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Uint16,
		arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64,
		arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String, arrow.BinaryTypes.Binary,
	}
	fields := make([]arrow.Field, rapid.IntRange(0, 4).Draw(t, "columns"))
	for i := range fields {
		typ := rapid.SampledFrom(types).Draw(t, "type")
		switch rapid.IntRange(0, 2).Draw(t, "list") {
		case 1:
			typ = arrow.ListOf(typ)
		case 2:
			typ = arrow.FixedSizeListOf(int32(rapid.IntRange(1, 4).Draw(t, "size")), typ)
		}
		meta := arrow.NewMetadata([]string{"role"}, []string{"label"})
		fields[i] = arrow.Field{Name: fmt.Sprint("c", i), Type: typ, Nullable: rapid.Bool().Draw(t, "nullable"), Metadata: meta}
	}
	b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema(fields, nil))
	rows := rapid.SampledFrom([]int{0, 1, 2, 70}).Draw(t, "rows")
	for i := range fields {
		r := sequence(rapid.Uint64Min(1).Draw(t, "seed"))
		for range rows {
			appendPresent(b.Field(i), &r)
		}
	}
	return b.NewRecord()
}

// appendPresent appends a value or a list of values, without nulls.
func appendPresent(b array.Builder, r *sequence) {
	switch b := b.(type) {
	case *array.FixedSizeListBuilder:
		b.Append(true)
		for range b.Type().(*arrow.FixedSizeListType).Len() {
			appendLeaf(b.ValueBuilder(), r)
		}
	case *array.ListBuilder:
		b.Append(true)
		for range r.below(4) {
			appendLeaf(b.ValueBuilder(), r)
		}
	default:
		appendLeaf(b, r)
	}
}

// TestWritten: written files read back unchanged, with Arrow's package, too, and for slices of records.
func TestWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := drawTensors(t)
		from := rapid.Int64Range(0, rec.NumRows()).Draw(t, "from")
		rec = rec.NewSlice(from, rec.NumRows())
		var out bytes.Buffer
		w, err := NewWriter(&out, rec.Schema(), parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy)))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(rec), w.Write(rec), w.Close()); err != nil {
			t.Fatal(err)
		}
		got, err := ours(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		want, err := theirs(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if err := same(got, want); err != nil {
			t.Fatal(err)
		}
		for i, groups := range got.groups {
			f := got.schema.Field(i)
			if role, _ := f.Metadata.GetValue("role"); role != "label" || f.Nullable != rec.Schema().Field(i).Nullable {
				t.Fatalf("field %s, expected %s", f, rec.Schema().Field(i))
			}
			for _, a := range groups {
				if err := sameArray(a, rec.Column(i)); err != nil {
					t.Fatalf("%s: %v", f, err)
				}
			}
		}
	})
}

// TestNotWritten: nulls, other types and other columns are errors that name the column.
func TestNotWritten(t *testing.T) {
	props := parquet.NewWriterProperties()
	schema := func(t arrow.DataType) *arrow.Schema {
		return arrow.NewSchema([]arrow.Field{{Name: "x", Type: t, Nullable: true}}, nil)
	}
	if _, err := NewWriter(&bytes.Buffer{}, schema(arrow.FixedWidthTypes.Date32), props); err == nil || !strings.Contains(err.Error(), `column "x": date32 is not written`) {
		t.Errorf("got %v", err)
	}
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.ListOf(arrow.PrimitiveTypes.Int8)} {
		w, err := NewWriter(&bytes.Buffer{}, schema(typ), props)
		if err != nil {
			t.Fatal(err)
		}
		b := array.NewRecordBuilder(memory.NewGoAllocator(), schema(typ))
		if l, ok := b.Field(0).(*array.ListBuilder); ok {
			l.Append(true)
			l.ValueBuilder().AppendNull()
		} else {
			b.Field(0).AppendNull()
		}
		if err := w.Write(b.NewRecord()); err == nil || !strings.Contains(err.Error(), `column "x"`) || !strings.Contains(err.Error(), "nulls") {
			t.Errorf("%s: got %v", typ, err)
		}
		b = array.NewRecordBuilder(memory.NewGoAllocator(), schema(arrow.BinaryTypes.String))
		if err := w.Write(b.NewRecord()); err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%s: got %v", typ, err)
		}
	}
}

// full is a writer that accepts only that many bytes.
type full int

var errNoSpace = errors.New("no space left")

func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), int(*f))
	if *f -= full(n); n < len(b) {
		return n, errNoSpace
	}
	return n, nil
}

// TestWriterOnFullDisk: wherever the space ends, the writer reports it, and does not panic.
func TestWriterOnFullDisk(t *testing.T) {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.BinaryTypes.String}}, nil))
	for i := range 50 {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprint(i))
	}
	rec := b.NewRecord()
	write := func(space int) error {
		left := full(space)
		w, err := NewWriter(&left, rec.Schema(), parquet.NewWriterProperties())
		if err != nil {
			return err
		}
		if err := errors.Join(w.Write(rec), w.Write(rec)); err != nil {
			return err
		}
		return w.Close()
	}
	needed := 0
	for ; write(needed) != nil; needed += 7 {
		if err := write(needed); !errors.Is(err, errNoSpace) {
			t.Fatalf("space for %d bytes: %v", needed, err)
		}
	}
	if needed < 1000 {
		t.Errorf("space for %d bytes is enough, expected more", needed)
	}
}
