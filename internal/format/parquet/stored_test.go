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
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// TestScalesAreTheColumns: a stored schema can widen decimals; their scale is the column's.
func TestScalesAreTheColumns(t *testing.T) {
	field := func(typ arrow.DataType) *arrow.Schema {
		return arrow.NewSchema([]arrow.Field{{Name: "x", Type: typ}}, nil)
	}
	own := field(&arrow.Decimal128Type{Precision: 9, Scale: 2})
	rec, _, err := array.RecordFromJSON(memory.NewGoAllocator(), own, strings.NewReader(`[{"x": "1.25"}]`))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(own, &out, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	stored, err := serialized(field(&arrow.Decimal256Type{Precision: 40, Scale: 1}))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.AppendKeyValueMetadata(storedKey, stored), w.Write(rec), w.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := ours(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if a := got.groups[0][0]; a.DataType().ID() != arrow.DECIMAL256 || a.ValueStr(0) != "1.25" {
		t.Errorf("got %s %s, expected decimal256 1.25", a.DataType(), a.ValueStr(0))
	}
}

// TestNullsOfBytes: a column of nulls may be stored as bytes, in several pages.
func TestNullsOfBytes(t *testing.T) {
	node := schema.MustPrimitive(schema.NewPrimitiveNodeLogical("x", parquet.Repetitions.Optional, schema.NullLogicalType{}, parquet.Types.ByteArray, -1, -1))
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, schema.MustGroup(schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{node}, -1)))
	g := w.AppendRowGroup()
	c, err := g.NextColumn()
	if err != nil {
		t.Fatal(err)
	}
	const pages, page = 3, 10
	for range pages {
		_, err := c.(*file.ByteArrayColumnChunkWriter).WriteBatch(nil, make([]int16, page), nil)
		if err := errors.Join(err, c.(*file.ByteArrayColumnChunkWriter).FlushCurrentPage()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(g.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := ours(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if a := got.groups[0][0]; a.Len() != pages*page || a.NullN() != pages*page || fmt.Sprint(a.DataType()) != "null" {
		t.Errorf("got %d of %s, expected %d nulls", a.Len(), a.DataType(), pages*page)
	}
}
