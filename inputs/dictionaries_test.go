package inputs

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/goestimator/goestimator/internal/testkit"
)

// TestDictionariesTogether: dictionaries that are each small enough are refused if together they are larger than the file can hold, in
// both formats.
func TestDictionariesTogether(t *testing.T) {
	testkit.NotConcurrent(t)
	for format, write := range map[string]func(*testing.T, arrow.Record) []byte{"file": packedArrowFile, "stream": packedArrowStream} {
		for columns, refused := range map[int]bool{1: false, 2: true} {
			text := write(t, bigWords(t, columns, 40<<20))
			f, err := arrowRecords(memoryFile{bytes.NewReader(text)})
			if err == nil {
				var rec arrow.Record
				if rec, err = readOne(t, f); err == nil {
					rec.Release()
				}
				if stopped := f.stop(); stopped != nil {
					t.Error(stopped)
				}
			}
			if refused != (err != nil) || err != nil && !strings.Contains(err.Error(), "claim") {
				t.Errorf("%s with %d dictionaries in %d bytes: got %v", format, columns, len(text), err)
			}
		}
	}
}

func readOne(t *testing.T, f *recordFile) (_ arrow.Record, err error) {
	defer recoverArrow("test", &err)
	return f.next(t.Context())
}

// bigWords returns a record of columns, each with a dictionary of one word of size bytes.
func bigWords(t *testing.T, columns, size int) arrow.Record {
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.Binary}
	var fields []arrow.Field
	for i := range columns {
		fields = append(fields, arrow.Field{Name: fmt.Sprint("w", i), Type: words})
	}
	b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema(fields, nil))
	defer b.Release()
	for i := range columns {
		if err := b.Field(i).(*array.BinaryDictionaryBuilder).Append(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	return b.NewRecord()
}

func packedArrowStream(t *testing.T, rec arrow.Record) []byte {
	defer rec.Release()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(rec.Schema()), ipc.WithZstd())
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func packedArrowFile(t *testing.T, rec arrow.Record) []byte {
	defer rec.Release()
	f, err := os.Create(t.TempDir() + "/words.arrow")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(rec.Schema()), ipc.WithZstd())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return text
}
