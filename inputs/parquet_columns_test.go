package inputs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
)

// TestColumnsInParallel: several goroutines read the same rows and find the same damage as one does, whatever panics in the library.
func TestColumnsInParallel(t *testing.T) {
	src := manyRows(t, 2500)
	it := iterate(t, Pipe(src, Batch(2500, false)))
	rec, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	var file bytes.Buffer
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithMaxRowGroupLength(1000))
	w, err := pqarrow.NewFileWriter(rec.Schema(), &file, props, pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
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
			data[r.IntN(len(data)-2000)] ^= byte(1 + r.IntN(255)) // not in its end
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

// parquetSums reads a file with as many goroutines. It returns what each record holds.
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
