package inputs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	pq "github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
	"github.com/goestimator/goestimator/internal/testkit"
)

// thriftInt returns an integer field of Thrift's compact protocol; its ID is delta more than the previous one.
func thriftInt(delta byte, v int64) []byte {
	return binary.AppendUvarint([]byte{delta<<4 | thriftI32}, uint64(v<<1^v>>63))
}

// page returns a data page: its header and content.
func page(unpacked, packed, values int64, content ...byte) []byte {
	head := append(thriftInt(1, 0), thriftInt(1, unpacked)...)
	head = append(append(head, thriftInt(1, packed)...), 2<<4|thriftStruct)
	head = append(append(head, thriftInt(1, values)...), thriftStop, thriftStop)
	return append(head, content...)
}

// page2 returns a data page of version 2, whose first bytes are levels.
func page2(unpacked, packed, values, levels int64, plain bool, content ...byte) []byte {
	head := append(thriftInt(1, 3), thriftInt(1, unpacked)...)
	head = append(append(head, thriftInt(1, packed)...), 5<<4|thriftStruct)
	head = append(append(append(head, thriftInt(1, values)...), thriftInt(4, levels)...), thriftInt(1, 0)...)
	if plain {
		head = append(head, 1<<4|thriftFalse)
	}
	return append(append(head, thriftStop, thriftStop), content...)
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// zstdOf returns a frame with one block of a kind and size, without a content size.
func zstdOf(kind, size uint32, content ...byte) []byte {
	b := 1 | kind<<1 | size<<3
	return append([]byte{0x28, 0xB5, 0x2F, 0xFD, 0, 0, byte(b), byte(b >> 8), byte(b >> 16)}, content...)
}

// TestPages tests the limits of the sizes that pages may claim and unpack to.
func TestPages(t *testing.T) {
	const most = 1000
	bomb := zipped(t, make([]byte, 100_000))
	snappy100 := binary.AppendUvarint(nil, 100)
	for name, c := range map[string]struct {
		codec compress.Compression
		pages []byte
		err   string
	}{
		"plain":                  {compress.Codecs.Uncompressed, page(3, 3, 1, 1, 2, 3), ""},
		"as large as may be":     {compress.Codecs.Uncompressed, page(most, 1, 1, 1), ""},
		"a byte more":            {compress.Codecs.Uncompressed, page(most+1, 1, 1, 1), "claims to unpack to 1001 bytes"},
		"negative":               {compress.Codecs.Uncompressed, page(-1, 1, 1, 1), "cannot be"},
		"fewer values than 0":    {compress.Codecs.Uncompressed, page(1, 1, -1, 1), "cannot be"},
		"more than there is":     {compress.Codecs.Uncompressed, page(3, 4, 1, 1, 2, 3), "its column has 3 more"},
		"two gigabytes":          {compress.Codecs.Snappy, page(1, 1<<31-1, 1, 1), "its column has 1 more"},
		"the second page":        {compress.Codecs.Uncompressed, append(page(1, 1, 1, 1), page(1, 9, 9, 1)...), "page 1 at offset"},
		"after the last value":   {compress.Codecs.Uncompressed, append(page(1, 1, 10, 1), 255), ""},
		"no header":              {compress.Codecs.Uncompressed, []byte{255, 255}, "header cannot be read"},
		"snappy":                 {compress.Codecs.Snappy, page(100, 2, 1, append(snappy100, 0)...), ""},
		"snappy, more":           {compress.Codecs.Snappy, page(99, 2, 1, append(snappy100, 0)...), "unpack to more than the 99"},
		"snappy, four GiB":       {compress.Codecs.Snappy, page(99, 5, 1, 0xff, 0xff, 0xff, 0xff, 0x0f), "unpack to more"},
		"snappy after levels":    {compress.Codecs.Snappy, page2(102, 4, 1, 2, false, append([]byte{0, 0}, append(snappy100, 0)...)...), ""},
		"levels that are not":    {compress.Codecs.Snappy, page2(102, 4, 1, 5, false, 0, 0, 0, 0), "cannot be"},
		"levels, more":           {compress.Codecs.Snappy, page2(101, 4, 1, 2, false, append([]byte{0, 0}, append(snappy100, 0)...)...), "unpack to more"},
		"not packed":             {compress.Codecs.Snappy, page2(4, 4, 1, 2, true, 0xff, 0xff, 0xff, 0xff), ""},
		"gzip":                   {compress.Codecs.Gzip, page(100, int64(len(bomb)), 1, bomb...), ""}, // this much is accepted, and no more
		"gzip of nothing":        {compress.Codecs.Gzip, page(0, int64(len(zipped(t, nil))), 1, zipped(t, nil)...), ""},
		"gzip, said to be none":  {compress.Codecs.Gzip, page(0, int64(len(bomb)), 1, bomb...), "unpack to more than the 0"},
		"zstd":                   {compress.Codecs.Zstd, page(100, 10, 1, zstdOf(1, most, 7)...), ""},
		"zstd, more":             {compress.Codecs.Zstd, page(100, 10, 1, zstdOf(1, most+1, 7)...), "unpack to more"},
		"zstd, two frames":       {compress.Codecs.Zstd, page(100, 20, 1, append(zstdOf(1, most, 7), zstdOf(1, 1, 7)...)...), "unpack to more"},
		"zstd, cut":              {compress.Codecs.Zstd, page(100, 9, 1, zstdOf(1, most)...), "damaged Zstandard"},
		"zstd, passed over":      {compress.Codecs.Zstd, page(100, 10, 1, 0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7), ""},
		"zstd, passed over, cut": {compress.Codecs.Zstd, page(100, 9, 1, 0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7), "damaged Zstandard"},
		"zstd, raw":              {compress.Codecs.Zstd, page(100, 12, 1, zstdOf(0, 3, 1, 2, 3)...), ""},
		"zstd, another thing":    {compress.Codecs.Zstd, page(100, 4, 1, 1, 2, 3, 4), "damaged Zstandard"},
	} {
		p := pageChecker{bytes.NewReader(c.pages), int64(len(c.pages)), most}
		err := p.check(pageChunk{0, int64(len(c.pages)), 10, c.codec})
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "page ")) {
			t.Errorf("%s: got %v, expected %q", name, err, c.err)
		}
	}
	p := pageChecker{bytes.NewReader(nil), 100, most}
	for _, chunk := range []pageChunk{{start: -1}, {size: -1}, {start: 101}, {start: 50, size: 51}, {start: 1, size: 1<<63 - 1}} {
		if err := p.check(chunk); err == nil {
			t.Errorf("%+v lies in a file of 100 bytes", chunk)
		}
	}
}

// countingReader counts the bytes that are read.
type countingReader struct {
	io.ReaderAt
	read int
}

func (c *countingReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(b, at)
	c.read += n
	return n, err
}

// TestZstdSize: the sizes of blocks are read without their content, and exactly to the end.
func TestZstdSize(t *testing.T) {
	large := zstdOf(0, zstdBlock-1, make([]byte, zstdBlock-1)...)
	small := zstdOf(1, 5, 7)
	for name, c := range map[string]struct {
		data []byte
		size int64 // -1: damaged
		read int   // most bytes read
	}{
		"nothing":            {nil, 0, 0},
		"a large block":      {large, zstdBlock - 1, 1024},
		"many":               {slices.Repeat(large, 10), 10 * (zstdBlock - 1), 10 * 1024},
		"many small":         {slices.Repeat(small, 10_000), 50_000, 10_000 * len(small)},
		"large, then small":  {append(slices.Clone(large), small...), zstdBlock + 4, 2048},
		"a byte lacks":       {large[:len(large)-1], -1, 1024},
		"a byte more":        {append(slices.Clone(large), 1), -1, 2048},
		"a checksum":         {[]byte{0x28, 0xB5, 0x2F, 0xFD, 4, 0, 1, 0, 0, 1, 2, 3, 4}, 0, 1024},
		"a checksum, cut":    {[]byte{0x28, 0xB5, 0x2F, 0xFD, 4, 0, 1, 0, 0, 1, 2, 3}, -1, 1024},
		"an unknown block":   {zstdOf(3, 1, 1), -1, 1024},
		"passed over, large": {append([]byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 1, 0}, make([]byte, 1<<16)...), 0, 1024},
	} {
		in := &countingReader{ReaderAt: bytes.NewReader(c.data)}
		size, err := zstdSize(io.NewSectionReader(in, 0, int64(len(c.data))))
		if c.size < 0 && !errors.Is(err, errZstd) || c.size >= 0 && (err != nil || size != c.size) {
			t.Errorf("%s: got %d, %v, expected %d", name, size, err, c.size)
		}
		if in.read > c.read {
			t.Errorf("%s: %d bytes of %d are read, expected at most %d", name, in.read, len(c.data), c.read)
		}
	}
	no := errors.New("no")
	if _, err := zstdSize(io.NewSectionReader(failingReader{no}, 0, 100)); !errors.Is(err, no) {
		t.Errorf("got %v, expected what reading failed with", err)
	}
}

// failingReader fails.
type failingReader struct{ err error }

func (f failingReader) ReadAt([]byte, int64) (int, error) { return 0, f.err }

// countRows reads a file to its end.
func countRows(t *testing.T, name string) (rows int64, err error) {
	t.Helper()
	f, err := openParquet(context.Background(), name, nil)
	if err != nil {
		return 0, err
	}
	defer f.stop()
	for {
		rec, err := f.next(t.Context())
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows += rec.NumRows()
		rec.Release()
	}
}

// parquetOf writes a file with one column and small pages.
func parquetOf(t *testing.T, codec compress.Compression, version parquet.DataPageVersion) string {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil))
	defer b.Release()
	for i := range 5000 {
		if column := b.Field(0).(*array.Int64Builder); i%7 == 0 || i > 4000 {
			column.AppendNull()
		} else {
			column.Append(int64(i / 3))
		}
	}
	rec := b.NewRecord()
	defer rec.Release()
	name := filepath.Join(t.TempDir(), "data.parquet")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	props := parquet.NewWriterProperties(parquet.WithCompression(codec), parquet.WithDataPageSize(1000), parquet.WithDataPageVersion(version), parquet.WithBatchSize(100))
	w, err := pqarrow.NewFileWriter(rec.Schema(), f, props, pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestPagesOfFiles: files with every compression are read, and a page that claims too much is named.
func TestPagesOfFiles(t *testing.T) {
	for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Zstd} {
		for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
			if n, err := countRows(t, parquetOf(t, codec, version)); err != nil || n != 5000 {
				t.Errorf("%v, version %v: %d rows, %v", codec, version, n, err)
			}
		}
	}
	name := parquetOf(t, compress.Codecs.Snappy, parquet.DataPageV1)
	claimMore(t, name)
	ds, err := Parquet([]string{name}, ArrowOptions{})
	if err == nil {
		var it Iterator
		if it, err = ds.Iterate(t.Context()); err == nil {
			_, err = it.Next(t.Context())
			it.Close()
		}
	}
	if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), `row group 0, column "x": page 0`) {
		t.Errorf("expected the file, column and page, got %v", err)
	}
}

// claimMore makes the content of a file's first page claim four gigabytes.
func claimMore(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := pq.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.MetaData().RowGroup(0).ColumnChunk(0)
	if err != nil {
		t.Fatal(err)
	}
	at := c.DataPageOffset()
	if d := c.DictionaryPageOffset(); c.HasDictionaryPage() && d > 0 {
		at = min(at, d)
	}
	in := &thriftReader{in: bufio.NewReader(bytes.NewReader(data[at:]))}
	if _, err := in.pageHeader(); err != nil {
		t.Fatal(err)
	}
	copy(data[at+in.read:], binary.AppendUvarint(nil, 1<<32-1))
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestUnpackedInMemory: a gzip file that unpacks to far more than its size is not read into memory.
func TestUnpackedInMemory(t *testing.T) {
	testkit.NotConcurrent(t)
	name := filepath.Join(t.TempDir(), "data.parquet.gz")
	packed := zipped(t, make([]byte, 96<<20))
	if err := os.WriteFile(name, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Parquet([]string{name}, ArrowOptions{})
	if want := fmt.Sprintf("%s: file of %d bytes unpacks to more than", name, len(packed)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("expected %q, got %v", want, err)
	}
}
