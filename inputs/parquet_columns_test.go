package inputs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
)

// TestColumnsInParallel: several goroutines read the same rows and find the same damage as one does, whatever panics in the library, in flat and
// nested columns.
func TestColumnsInParallel(t *testing.T) {
	it := iterate(t, Pipe(manyRows(t, 2500), Batch(2500, false)))
	flat, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer flat.Release()
	for name, rec := range map[string]arrow.Record{"flat": flat, "nested": nestedRows(t, 2500)} {
		t.Run(name, func(t *testing.T) { checkParallel(t, rec) })
	}
}

// nestedRows returns rows of lists, structs, maps, dictionaries and decimals, with nulls.
func nestedRows(t *testing.T, rows int) arrow.Record {
	t.Helper()
	null := func(name string, typ arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: typ, Nullable: true}
	}
	schema := arrow.NewSchema([]arrow.Field{
		null("list", arrow.ListOf(arrow.StructOf(null("a", arrow.PrimitiveTypes.Int8), null("b", arrow.ListOf(arrow.BinaryTypes.String))))),
		null("map", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64)),
		null("fixed", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int64)),
		null("word", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}),
		null("price", &arrow.Decimal128Type{Precision: 20, Scale: 2}),
	}, nil)
	var text strings.Builder
	for i := range rows {
		switch i % 3 {
		case 0:
			text.WriteString(`{"list": null, "map": null, "fixed": [null, 0], "word": null, "price": null}`)
		case 1:
			fmt.Fprintf(&text, `{"list": [], "map": [{"key": "k%d", "value": null}], "fixed": [%d, null], "word": "w%d", "price": "-1.5"}`, i, i, i%7)
		default:
			fmt.Fprintf(&text, `{"list": [null, {"a": %d, "b": ["x", null]}, {"a": null, "b": null}], "map": [], "fixed": [1, 2], "word": "w", "price": "%d"}`, i%100, i)
		}
	}
	rec, _, err := array.RecordFromJSON(memory.NewGoAllocator(), schema, strings.NewReader(text.String()), array.WithMultipleDocs())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rec.Release)
	return rec
}

func checkParallel(t *testing.T, rec arrow.Record) {
	var file bytes.Buffer
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithMaxRowGroupLength(1000))
	w, err := pqarrow.NewFileWriter(rec.Schema(), &file, props, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		t.Fatal(err)
	}
	one, errOne := parquetSums(t, file.Bytes(), 1)
	if errOne != nil || len(one) < 3 {
		t.Fatalf("got %d records and %v", len(one), errOne)
	}
	r := rand.New(rand.NewPCG(5, 8))
	files, failed := 50, 0
	if testing.Short() {
		files = 15
	}
	for i := range files {
		data := bytes.Clone(file.Bytes())
		if i > 0 {
			data[r.IntN(len(data)-4000)] ^= byte(1 + r.IntN(255)) // not in its footer
		}
		one, errOne := parquetSums(t, data, 1)
		several, errSeveral := parquetSums(t, data, 4)
		if fmt.Sprint(one, errOne) != fmt.Sprint(several, errSeveral) {
			t.Errorf("damage %d: one goroutine reads %d records and says %v, several read %d and say %v", i, len(one), errOne, len(several), errSeveral)
		}
		if errOne != nil {
			failed++
		}
	}
	if failed < files/15 {
		t.Errorf("%d of %d files are damaged", failed, files)
	}
}

// parquetSums reads a file with the given number of goroutines. It returns what each record holds.
func parquetSums(t *testing.T, data []byte, workers int) (records []string, err error) {
	defer recoverArrow("test", &err)
	f, err := parquetRecords(memoryFile{bytes.NewReader(data)}, nil, workers)
	if err != nil {
		return nil, err
	}
	defer f.stop()
	for {
		rec, err := f.next(t.Context())
		if eof(err) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		records = append(records, fmt.Sprint(rec))
		rec.Release()
	}
}
