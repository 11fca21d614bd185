package inputs

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"

	columns "github.com/goestimator/goestimator/internal/format/parquet"
	"github.com/goestimator/goestimator/internal/testkit"
)

// TestColumnsTogether: many columns of a small file, each within its limit, may together take only a part of the memory. Fewer columns can be read.
func TestColumnsTogether(t *testing.T) {
	testkit.NotConcurrent(t)
	defer func(total func() (int64, bool)) { memoryTotal = total }(memoryTotal)
	memoryTotal = func() (int64, bool) { return 1, true }
	rec := zeros(1<<20, 24)
	defer rec.Release()
	var packed bytes.Buffer
	w, err := columns.NewWriter(&packed, rec.Schema(), parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDictionaryDefault(false)))
	if err == nil {
		err = w.Write(rec)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if most := maxUnpacked(int64(packed.Len())); most < 3*8<<20*2 || most > 24*8<<20 {
		t.Fatalf("a file of %d bytes may unpack to %d", packed.Len(), most)
	}
	for name, c := range map[string]struct {
		open    func() (*recordFile, error)
		refused bool
	}{
		"parquet": {func() (*recordFile, error) {
			return parquetRecords(memoryFile{bytes.NewReader(packed.Bytes())}, nil, 2)
		}, true},
		"parquet, 3 columns": {func() (*recordFile, error) {
			return parquetRecords(memoryFile{bytes.NewReader(packed.Bytes())}, []string{"c0", "c7", "c23"}, 2)
		}, false},
		"arrow": {func() (*recordFile, error) {
			rec.Retain() // the caller releases it
			return arrowRecords(memoryFile{bytes.NewReader(packedArrowFile(t, rec))})
		}, true},
	} {
		f, err := c.open()
		if err == nil {
			var got arrow.Record
			if got, err = readOne(t, f); err == nil {
				got.Release()
			}
			if stopped := f.stop(); stopped != nil {
				t.Error(stopped)
			}
		}
		if c.refused != (err != nil) || err != nil && !strings.HasPrefix(err.Error(), "test: its columns take more than") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// zeros returns a record with columns c0, c1 and so on.
func zeros(rows, n int) arrow.Record {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(make([]int64, rows), nil)
	col := b.NewArray()
	defer col.Release()
	var fields []arrow.Field
	var cols []arrow.Array
	for i := range n {
		fields, cols = append(fields, arrow.Field{Name: fmt.Sprint("c", i), Type: arrow.PrimitiveTypes.Int64}), append(cols, col)
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), cols, int64(rows))
}
