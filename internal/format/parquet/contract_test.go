package parquet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
	"pgregory.net/rapid"
)

// drawType draws a type that Arrow's writer supports.
func drawType(t *rapid.T, depth int) arrow.DataType {
	leaves := []arrow.DataType{
		arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Uint16,
		arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64,
		arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Float16,
		arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64us, arrow.FixedWidthTypes.Time64ns,
		arrow.FixedWidthTypes.Timestamp_s, arrow.FixedWidthTypes.Timestamp_ms, arrow.FixedWidthTypes.Timestamp_us, arrow.FixedWidthTypes.Timestamp_ns,
		&arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Paris"},
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary,
		&arrow.FixedSizeBinaryType{ByteWidth: 5}, &arrow.Decimal128Type{Precision: 9, Scale: 2}, &arrow.Decimal128Type{Precision: 18, Scale: 0}, &arrow.Decimal128Type{Precision: 38, Scale: 10},
		&arrow.Decimal256Type{Precision: 9, Scale: 1}, &arrow.Decimal256Type{Precision: 77 - 1, Scale: 3},
	}
	kind := "leaf"
	if depth > 0 {
		kind = rapid.SampledFrom([]string{"leaf", "leaf", "struct", "list", "fixed", "map", "dictionary"}).Draw(t, "kind")
	}
	switch kind {
	case "struct":
		fields := make([]arrow.Field, rapid.IntRange(1, 3).Draw(t, "fields"))
		for i := range fields {
			fields[i] = drawField(t, fmt.Sprint("f", i), depth-1)
		}
		return arrow.StructOf(fields...)
	case "list":
		return arrow.ListOf(drawType(t, depth-1))
	case "fixed":
		return arrow.FixedSizeListOf(int32(rapid.IntRange(1, 3).Draw(t, "size")), drawType(t, 0))
	case "map":
		return arrow.MapOf(drawType(t, 0), drawType(t, depth-1))
	case "dictionary":
		value := rapid.SampledFrom([]arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.Binary}).Draw(t, "value")
		return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: value}
	}
	return rapid.SampledFrom(leaves).Draw(t, "type")
}

// drawField draws a field. Lists are nullable, since Arrow's writer writes others as nulls.
func drawField(t *rapid.T, name string, depth int) arrow.Field {
	f := arrow.Field{Name: name, Type: drawType(t, depth), Nullable: true}
	if _, isList := f.Type.(arrow.ListLikeType); !isList {
		f.Nullable = rapid.Bool().Draw(t, "nullable")
	}
	return f
}

// appendDrawn appends a value that depends on the state of r, so that columns with many rows need few draws.
func appendDrawn(b array.Builder, r *sequence, nullable bool) {
	if nullable && r.below(5) == 0 {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.StructBuilder:
		b.Append(true)
		fields := b.Type().(*arrow.StructType).Fields()
		for i := range b.NumField() {
			appendDrawn(b.FieldBuilder(i), r, fields[i].Nullable)
		}
	case *array.MapBuilder:
		b.Append(true)
		for range r.below(4) {
			appendDrawn(b.KeyBuilder(), r, false)
			appendDrawn(b.ItemBuilder(), r, true)
		}
	case *array.FixedSizeListBuilder:
		b.Append(true)
		for range b.Type().(*arrow.FixedSizeListType).Len() {
			appendDrawn(b.ValueBuilder(), r, true)
		}
	case *array.ListBuilder:
		b.Append(true)
		for range r.below(4) {
			appendDrawn(b.ValueBuilder(), r, true)
		}
	default:
		appendLeaf(b, r)
	}
}

// appendLeaf appends a value of a type without children, often an earlier one.
func appendLeaf(b array.Builder, r *sequence) {
	v := r.value()
	switch b := b.(type) {
	case *array.BinaryBuilder:
		text := fmt.Append(nil, v)
		b.Append(text[:r.below(uint64(len(text)))])
	case *array.StringBuilder:
		b.Append(fmt.Sprint(v))
	case *array.LargeStringBuilder:
		b.Append(fmt.Sprint(v))
	case *array.BinaryDictionaryBuilder:
		if err := b.AppendString(fmt.Sprint(v % 100)); err != nil {
			panic(err)
		}
	case *array.FixedSizeBinaryBuilder:
		b.Append(fmt.Appendf(nil, "%05d", uint64(v)%100000))
	case *array.BooleanBuilder:
		b.Append(v%2 == 0)
	default:
		appendNumber(b, v)
	}
}

// sequence is a sequence of numbers (Marsaglia's xorshift).
type sequence uint64

func (s *sequence) next() uint64 {
	*s ^= *s << 13
	*s ^= *s >> 7
	*s ^= *s << 17
	return uint64(*s)
}

func (s *sequence) below(n uint64) int { return int(s.next() >> 33 % n) }

func (s *sequence) value() int64 {
	switch s.below(4) {
	case 0:
		return int64(s.next())
	case 1:
		return -int64(s.below(300))
	}
	return int64(s.below(20))
}

// drawProperties draws the options of Arrow's writer.
func drawProperties(t *rapid.T) (*parquet.WriterProperties, pqarrow.ArrowWriterProperties) {
	codec := rapid.SampledFrom([]compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Zstd}).Draw(t, "codec")
	dictionary := rapid.Bool().Draw(t, "dictionary")
	o := []parquet.WriterProperty{
		parquet.WithCompression(codec), parquet.WithDictionaryDefault(dictionary),
		parquet.WithDataPageVersion(rapid.SampledFrom([]parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2}).Draw(t, "version")),
		parquet.WithDataPageSize(rapid.SampledFrom([]int64{1, 100, 3000, 1 << 20}).Draw(t, "page")),
		parquet.WithDictionaryPageSizeLimit(rapid.SampledFrom([]int64{1, 200, 1 << 20}).Draw(t, "dictionary size")),
		parquet.WithMaxRowGroupLength(rapid.SampledFrom([]int64{30, 250, 1 << 20}).Draw(t, "group")),
		// Arrow's writer does not terminate for a row with more values than a batch, in pages of version 2.
		parquet.WithBatchSize(rapid.SampledFrom([]int64{100, 1024}).Draw(t, "batch")),
		parquet.WithVersion(rapid.SampledFrom([]parquet.Version{parquet.V1_0, parquet.V2_4, parquet.V2_LATEST}).Draw(t, "format")),
		parquet.WithStoreDecimalAsInteger(rapid.Bool().Draw(t, "decimals")),
	}
	var a []pqarrow.WriterOption
	if rapid.Bool().Draw(t, "stored schema") {
		a = append(a, pqarrow.WithStoreSchema())
	}
	if rapid.IntRange(0, 4).Draw(t, "int96") == 0 {
		a = append(a, pqarrow.WithDeprecatedInt96Timestamps(true))
	}
	return parquet.NewWriterProperties(o...), pqarrow.NewArrowWriterProperties(a...)
}

// written returns a file with a record, or an error if Arrow's writer cannot write it.
func written(rec arrow.Record, props *parquet.WriterProperties, arrowProps pqarrow.ArrowWriterProperties) (_ []byte, err error) {
	defer recovered(&err)
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(rec.Schema(), &out, props, arrowProps)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
	}
}

// columns are the fields of a file, by row group.
type columns struct {
	schema *arrow.Schema
	groups [][]arrow.Array // [field][group]
}

// ours reads a file with this package.
func ours(data []byte) (_ *columns, err error) {
	defer recovered(&err)
	f, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	r, err := NewReader(f, memory.NewGoAllocator())
	if err != nil {
		return nil, err
	}
	out := &columns{schema: r.Schema()}
	for i := range r.Schema().NumFields() {
		var groups []arrow.Array
		for g := range f.NumRowGroups() {
			a, err := r.Column(g, i)
			if err != nil {
				return nil, err
			}
			groups = append(groups, a)
		}
		out.groups = append(out.groups, groups)
	}
	return out, nil
}

// theirs reads a file with Arrow's package.
func theirs(data []byte) (_ *columns, err error) {
	defer recovered(&err)
	f, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.NewGoAllocator())
	if err != nil {
		return nil, err
	}
	out := &columns{}
	if out.schema, err = r.Schema(); err != nil {
		return nil, err
	}
	for i := range out.schema.NumFields() {
		all := map[int]bool{}
		for leaf := range f.MetaData().Schema.NumColumns() {
			all[leaf] = true
		}
		var groups []arrow.Array
		for g := range f.NumRowGroups() {
			a, err := theirColumn(r, all, i, g)
			if err != nil {
				return nil, err
			}
			groups = append(groups, a)
		}
		out.groups = append(out.groups, groups)
	}
	return out, nil
}

func theirColumn(r *pqarrow.FileReader, leaves map[int]bool, field, group int) (arrow.Array, error) {
	c, err := r.GetFieldReader(context.Background(), field, leaves, []int{group})
	if err != nil {
		return nil, err
	}
	defer c.Release()
	data, err := r.ReadColumn([]int{group}, c)
	if err != nil {
		return nil, err
	}
	if rows := r.ParquetReader().MetaData().RowGroup(group).NumRows(); int64(data.Len()) != rows {
		return nil, fmt.Errorf("%d rows, expected %d", data.Len(), rows)
	}
	return only(data.Chunks(), data.DataType(), memory.DefaultAllocator)
}

// same returns an error if two files differ.
func same(got, want *columns) error {
	if !got.schema.Equal(want.schema) {
		return fmt.Errorf("schema\n%s\nexpected\n%s", got.schema, want.schema)
	}
	for i, groups := range want.groups {
		for g, a := range groups {
			if err := sameArray(got.groups[i][g], a); err != nil {
				return fmt.Errorf("field %s, row group %d: %w", want.schema.Field(i), g, err)
			}
		}
	}
	return nil
}

func sameArray(got, want arrow.Array) error {
	if !arrow.TypeEqual(got.DataType(), want.DataType()) || got.Len() != want.Len() {
		return fmt.Errorf("%d values of %s, expected %d of %s", got.Len(), got.DataType(), want.Len(), want.DataType())
	}
	for i := range want.Len() {
		if err := sameValue(got, want, i, i); err != nil {
			return fmt.Errorf("value %d: %w", i, err)
		}
	}
	return nil
}

// sameValue compares value i of got with value j of want, bit for bit. It ignores what is below a null.
func sameValue(got, want arrow.Array, i, j int) error {
	if got.IsNull(i) || want.IsNull(j) {
		if got.IsNull(i) != want.IsNull(j) {
			return fmt.Errorf("null: %t, expected %t", got.IsNull(i), want.IsNull(j))
		}
		return nil
	}
	switch w := want.(type) {
	case *array.Struct:
		for c := range w.NumField() {
			if err := sameValue(got.(*array.Struct).Field(c), w.Field(c), i, j); err != nil {
				return fmt.Errorf("field %d: %w", c, err)
			}
		}
		return nil
	case array.ListLike:
		g := got.(array.ListLike)
		start, end := w.ValueOffsets(j)
		gotStart, gotEnd := g.ValueOffsets(i)
		if gotEnd-gotStart != end-start {
			return fmt.Errorf("%d items, expected %d", gotEnd-gotStart, end-start)
		}
		for k := range end - start {
			if err := sameValue(g.ListValues(), w.ListValues(), int(gotStart+k), int(start+k)); err != nil {
				return fmt.Errorf("item %d: %w", k, err)
			}
		}
		return nil
	case *array.Float32:
		return sameText(math.Float32bits(got.(*array.Float32).Value(i)), math.Float32bits(w.Value(j)))
	case *array.Float64:
		return sameText(math.Float64bits(got.(*array.Float64).Value(i)), math.Float64bits(w.Value(j)))
	case *array.Dictionary:
		g := got.(*array.Dictionary)
		return sameValue(g.Dictionary(), w.Dictionary(), g.GetValueIndex(i), w.GetValueIndex(j))
	}
	return sameText(got.ValueStr(i), want.ValueStr(j))
}

func sameText[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("%v, expected %v", got, want)
	}
	return nil
}

// drawRecord draws columns of any type.
func drawRecord(t *rapid.T, depth int) arrow.Record {
	fields := make([]arrow.Field, rapid.IntRange(1, 3).Draw(t, "columns"))
	for i := range fields {
		fields[i] = drawField(t, fmt.Sprint("c", i), depth)
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	rows := rapid.SampledFrom([]int{0, 1, 2, 9, 64, 65, 300, 500}).Draw(t, "rows")
	for i, f := range fields {
		r := sequence(rapid.Uint64Min(1).Draw(t, "seed"))
		for range rows {
			appendDrawn(b.Field(i), &r, f.Nullable)
		}
	}
	return b.NewRecord()
}

// TestReadsAsArrow: files of Arrow's package are read as it reads them. Files that it cannot write or read, which are rare, are left out.
func TestReadsAsArrow(t *testing.T) {
	var files, read int
	rapid.Check(t, func(t *rapid.T) {
		rec := drawRecord(t, 3)
		props, arrowProps := drawProperties(t)
		data, err := written(rec, props, arrowProps)
		if err != nil {
			t.Skip(err)
		}
		files++
		want, err := theirs(data)
		if err != nil {
			return
		}
		read++
		got, err := ours(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := same(got, want); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%d files, %d are read", files, read)
	if read < files/2 {
		t.Errorf("Arrow's package reads %d of %d files", read, files)
	}
}
