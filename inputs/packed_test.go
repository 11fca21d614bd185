package inputs

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// bzipped is "x,y\n1,a\n2,b\n", compressed with Python's bz2.
const bzipped = "QlpoOTFBWSZTWdrAqzwAAAVZgAAQAAQwADAAAGAgACGmjCEMCK45YKCfF3JFOFCQ2sCrPA=="

// packedFiles returns one small CSV file, in each compression.
func packedFiles(t testing.TB) map[string][]byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(bzipped)
	if err != nil {
		t.Fatal(err)
	}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return map[string][]byte{"bzip2": b, "zstd": w.EncodeAll([]byte("x,y\n1,a\n2,b\n"), nil)}
}

func TestPackedFiles(t *testing.T) {
	columns := []ColumnSpec{{Name: "x"}, {Name: "y", DType: "string"}}
	plain := must[Dataset](t)(CSV([]string{write(t, "t.csv", []byte("x,y\n1,a\n2,b\n"))}, CSVOptions{Columns: columns, Header: true}))
	want := drain(t, iterate(t, plain), plain.Schema(), 9)
	for kind, data := range packedFiles(t) {
		ds := must[Dataset](t)(CSV([]string{write(t, "t.csv", data)}, CSVOptions{Columns: columns, Header: true, Allocator: checked(t)}))
		if d := cmp.Diff(want, drain(t, iterate(t, ds), ds.Schema(), 9)); d != "" {
			t.Errorf("%s: %s", kind, d)
		}
		path := write(t, "cut.csv", data[:len(data)-6])
		err := readAll(Spec{Format: "csv", Files: []string{path}, Columns: columns, Header: true}, Context{Allocator: checked(t)})
		var at *DataError
		if !errors.As(err, &at) || at.File != path {
			t.Errorf("%s, cut short: %v", kind, err)
		}
	}
	twice := write(t, "t", append([]byte("BZh91AY&SY"), bytes.Repeat([]byte{0}, 90)...))
	if err := readAll(Spec{Format: "csv", Files: []string{twice}, Columns: columns}, Context{}); err == nil || !strings.Contains(err.Error(), twice) {
		t.Errorf("damaged bzip2: %v", err)
	}
}

func FuzzPacked(f *testing.F) {
	for _, data := range packedFiles(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			t.Skip("long files take the time")
		}
		in, err := openFile(context.Background(), write(t, "t", data))
		if err != nil {
			return
		}
		defer in.Close()
		var room [4096]byte
		for n := 0; n < 1<<22; {
			k, err := in.Read(room[:])
			if err != nil {
				return
			}
			n += k
		}
	})
}
