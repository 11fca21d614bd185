package inputs

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"
)

// exhaust reads rows to the end or an error; no input may make it panic, leak
// or run forever.
func exhaust(t *testing.T, r rowReader, schema *Schema) {
	defer r.close()
	for range 1000 {
		rec, err := r.read(context.Background(), 0)
		if err != nil {
			return
		}
		if _, err := Tensors(rec, schema); err != nil {
			t.Logf("no tensors: %v", err)
		}
		rec.Release()
	}
}

func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"1,a,2,3\n", "x,y,z\n1,\"a\",2\n", "\"\n", "1;a\n", "\ufeffx,y\n,,\n", "# c\n1, a ,nan,0x1p-2\n", "1 \"a b\"  2\t3\n", "1 \"a\n"} {
		f.Add([]byte(seed), false, false)
		f.Add([]byte(seed), true, false)
		f.Add([]byte(seed), true, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, header, aligned bool) {
		delimiter := ""
		if aligned {
			delimiter = whitespace
		}
		// Errors are explained from the content of a file with that name.
		name := filepath.Join(t.TempDir(), "fuzz.csv")
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		format, err := newCSVFormat(CSVOptions{Header: header, Delimiter: delimiter, Comment: "#", MissingValues: []string{"?"}, Allocator: checked(t), Columns: []ColumnSpec{
			{Name: "x", Default: 0}, {Name: "y", DType: "string"}, {Name: "z", DType: "int64", Shape: []int{2}}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := format.reader(context.Background(), name, bytes.NewReader(data))
		if err != nil {
			return
		}
		exhaust(t, r, format.schema)
	})
}

func FuzzJSONL(f *testing.F) {
	f.Add([]byte(`{"x": 1, "y": "a", "z": [1, 2]}` + "\n" + `{"x": null, "y": true, "z": [[1], [2]]}`))
	f.Add([]byte("[]\n{}\n"))
	f.Add([]byte(`{"x": 1, "y": "a", "z": [1, 2], "r": ["a", "c"]}` + "\n" + `{"y": true, "z": [[1], [2]], "r": [[]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		format, err := newJSONFormat(ArrowOptions{Allocator: checked(t), Columns: []ColumnSpec{
			{Name: "x", Default: 0}, {Name: "y", DType: "string"}, {Name: "z", DType: "int64", Shape: []int{2}},
			{Name: "r", Ragged: true, Vocabulary: []string{"a"}}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := format.reader(context.Background(), "fuzz.jsonl", bytes.NewReader(data), nil)
		if err != nil {
			return
		}
		exhaust(t, r, format.schema)
	})
}

func FuzzIDX(f *testing.F) {
	f.Add(idxFile(8, []byte{2, 1, 2}, 1, 2, 3, 4))
	f.Add(idxFile(13, []byte{1}, 0, 0, 0, 1))
	f.Add(idxFile(8, []byte{0}))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := parseIDX(data)
		if err != nil {
			return
		}
		if len(x.Bytes) != x.Len()*x.DType.Size() {
			t.Fatalf("%d bytes for %v %s", len(x.Bytes), x.Shape, x.DType)
		}
		if ids, err := idxLabels(x); err == nil && len(ids) != x.Shape[0] {
			t.Fatalf("%d labels for %v", len(ids), x.Shape)
		}
	})
}

func FuzzCIFAR(f *testing.F) {
	f.Add(make([]byte, cifarRecord))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := checkCIFAR(data); err == nil && len(data)%cifarRecord != 0 {
			t.Fatal("part of a record accepted")
		}
	})
}

// maxFuzzFile bounds the input of the Arrow library.
const maxFuzzFile = 64 << 10

func addFiles(f *testing.F, pattern string) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

func fuzzRecords(t *testing.T, data []byte, open func(seekable) (*recordFile, error)) {
	if len(data) > maxFuzzFile {
		t.Skip("too large")
	}
	columns := append(slices.Clone(pyColumns[:9]), ColumnSpec{Name: "ragged", DType: "float64", Ragged: true})
	r, err := newRecordReader("fuzz", ArrowOptions{Columns: columns, Allocator: memory.DefaultAllocator}, nil, func() (*recordFile, error) {
		return open(memoryFile{bytes.NewReader(data)})
	})
	if err == nil {
		exhaust(t, r, r.conform.schema)
	}
}

func FuzzArrow(f *testing.F) {
	addFiles(f, "testdata/*.arrow")
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRecords(t, data, arrowRecords) })
}

func FuzzArrowStream(f *testing.F) {
	f.Add(pairStream(f, []int64{1, -2}, []int64{3}))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzRecords(t, data, func(s seekable) (*recordFile, error) { return recordsOfMessages(textMessages(s), s.Close) })
	})
}

func FuzzParquet(f *testing.F) {
	addFiles(f, "testdata/*.parquet")
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzRecords(t, data, func(s seekable) (*recordFile, error) { return parquetRecords(s, nil, 3) })
	})
}

// FuzzRestore mutates saved states and gives them a correct checksum.
func FuzzRestore(f *testing.F) {
	open := func(t testing.TB) (*iterator, Dataset) {
		ds := Pipe(streamOf(numbers(t, checked(t), 30)), Map(double()), Shuffle(6, 1), Repeat(2), Batch(4, false), Prefetch(2))
		it, err := ds.Iterate(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return it.(*iterator), ds
	}
	it, ds := open(f)
	head := len(stateMagic) + 1
	for range 4 {
		state, err := it.State()
		if err != nil {
			f.Fatal(err)
		}
		r := &stateReader{buf: state[head : len(state)-4]}
		r.bytes()
		f.Add(r.buf)
		next(f, it, ds.Schema())
	}
	it.Close()
	f.Fuzz(func(t *testing.T, payload []byte) {
		it, _ := open(t)
		defer it.Close()
		w := &stateWriter{buf: append([]byte(stateMagic), stateVersion)}
		w.bytes([]byte(it.desc))
		state := append(w.buf, payload...)
		state = binary.LittleEndian.AppendUint32(state, crc32.Checksum(state, castagnoli))
		if err := it.Restore(state); err != nil {
			return
		}
		for range 3 {
			rec, err := it.Next(context.Background())
			if err != nil {
				return
			}
			rec.Release()
		}
	})
}
