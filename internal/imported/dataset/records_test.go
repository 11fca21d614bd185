package dataset

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// filed writes a file and returns a function that opens it.
func filed(t *testing.T, content string) Open {
	t.Helper()
	m := atomicfile.NewMem("/d")
	if err := atomicfile.WriteFile(m, "/d/f", []byte(content)); err != nil {
		t.Fatal(err)
	}
	return func(path string) (atomicfile.File, error) { return m.OpenFile(path, os.O_RDONLY, 0) }
}

// all returns the records of a file with their positions, and the final error.
func all(r Records, err error) string {
	var out []string
	for err == nil {
		var b []byte
		if b, err = r.Next(); err == nil {
			out = append(out, fmt.Sprintf("%d:%q", r.Position(), b))
		}
	}
	if err != io.EOF {
		out = append(out, err.Error())
	}
	return strings.Join(out, " ")
}

func TestRecords(t *testing.T) {
	file := RecordFile{Path: "/d/f", Limit: 100}
	text, records := filed(t, "a\r\n\n\"b\rc\nd\"\r\nlast"), filed(t, string(tfrecord.Append(tfrecord.Append(nil, []byte("one")), []byte("three"))))
	fixed := filed(t, "hhaaabbbccf")
	long := RecordFile{Path: "/d/f", Limit: 4}
	for name, c := range map[string]struct {
		open func() (Records, error)
		want string
	}{
		"lines":       {func() (Records, error) { return file.Lines(text, DropReturns) }, `1:"a" 2:"" 3:"\"bc" 4:"d\"" 5:"last"`},
		"line ends":   {func() (Records, error) { return file.Lines(text, DropLastReturns) }, `1:"a" 2:"" 3:"\"b\rc" 4:"d\"" 5:"last"`},
		"rows":        {func() (Records, error) { return file.Rows(text, true) }, `1:"a" 4:"\"b\rc\nd\"" 5:"last"`},
		"long line":   {func() (Records, error) { return long.Lines(text, KeepReturns) }, `1:"a\r" 2:"" too much memory: a record of more than 4 bytes`},
		"tfrecords":   {func() (Records, error) { return file.TFRecords(records) }, `0:"one" 19:"three"`},
		"long record": {func() (Records, error) { return long.TFRecords(records) }, `0:"one" too much memory: a record of more than 4 bytes`},
		"fixed":       {func() (Records, error) { return file.FixedLength(fixed, Fixed{Header: 2, Record: 3, Footer: 3}) }, `0:"aaa" 1:"bbb"`},
		"hops": {func() (Records, error) {
			return file.FixedLength(fixed, Fixed{Header: 2, Record: 3, Footer: 1, Hop: 4})
		}, `0:"aaa" 1:"bbc"`},
		"small hops":   {func() (Records, error) { return file.FixedLength(fixed, Fixed{Header: 7, Record: 2, Hop: 1}) }, `0:"bc" 1:"cc" 2:"cf"`},
		"no record":    {func() (Records, error) { return file.FixedLength(fixed, Fixed{}) }, "expected record_bytes above 0, and header_bytes, footer_bytes and hop_bytes not below, got 0, 0, 0 and 0"},
		"overflow":     {func() (Records, error) { return file.FixedLength(fixed, Fixed{Record: 1, Footer: 1<<63 - 1}) }, "too much memory: a record of more than 100 bytes"},
		"no such file": {func() (Records, error) { return RecordFile{Path: "/d/g"}.TFRecords(records) }, "open /d/g: no such file or directory"},
		"compression":  {func() (Records, error) { return RecordFile{Path: "/d/f", Compression: "ZIP"}.TFRecords(records) }, "Unsupported compression_type: ZIP."},
	} {
		if got := all(c.open()); got != c.want {
			t.Errorf("%s: got %s, expected %s", name, got, c.want)
		}
	}
}

// TestBomb: a small file with a huge record takes no more memory than the limit.
func TestBomb(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(tfrecord.Append(nil, make([]byte, 1<<24))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := RecordFile{Path: "/d/f", Compression: "GZIP", Limit: 1 << 10}.TFRecords(filed(t, packed.String()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, ErrLimit) {
		t.Errorf("got %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
