package inputs

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
)

// TestFilesOfAnotherKind: each format recognizes a file of another format, and accepts its own.
func TestFilesOfAnotherKind(t *testing.T) {
	parquet, err := os.ReadFile("testdata/snappy.parquet")
	if err != nil {
		t.Fatal(err)
	}
	arrow, err := os.ReadFile("testdata/plain.arrow")
	if err != nil {
		t.Fatal(err)
	}
	var zipped, tarred bytes.Buffer
	z := zip.NewWriter(&zipped)
	if w, err := z.Create("xl/workbook.xml"); err != nil || z.Flush() != nil {
		t.Fatal(w, err)
	}
	z.Close()
	tw := tar.NewWriter(&tarred)
	if err := tw.WriteHeader(&tar.Header{Name: "data", Size: 0}); err != nil {
		t.Fatal(err)
	}
	tw.Close()
	files := map[string][]byte{
		"a Parquet file":                     parquet,
		"an Arrow file":                      arrow,
		"a TFRecord file":                    tfrecord.Append(nil, []byte("x")),
		"an IDX file":                        idxFile(8, []byte{2, 1, 2}, 1, 2, 3, 4),
		"a ZIP archive or an Excel workbook": zipped.Bytes(),
		"a tar archive":                      tarred.Bytes(),
		"a file packed with xz":              []byte("\xfd7zXZ\x00\x01"),
		"a Python pickle":                    []byte("\x80\x02}q\x01"),
		"a NumPy array":                      []byte("\x93NUMPY\x01\x00"),
		"an HDF5 file":                       []byte("\x89HDF\r\n\x1a\n"),
		"an SQLite database":                 []byte("SQLite format 3\x00\x10"),
		"UTF-16 text":                        []byte(utf16Of("x,y\n1,2\n", "\xff\xfe", false)),
		"UTF-32 text":                        []byte("\xff\xfe\x00\x00x\x00\x00\x00"),
		"a web page":                         []byte("\n<html><head>"),
		"a pointer of Git LFS":               []byte("version https://git-lfs.github.com/spec/v1\noid sha256:1\n"),
		"JSON":                               []byte("{\"x\": 1, \"y\": \"a\"}\n"),
		"a JSON list":                        []byte("[\n  {\"x\": 1}\n]\n"),
		"text":                               []byte("x,y\n1,a\n2,b\n"),
		"empty":                              nil,
	}
	own := map[string]string{"parquet": "a Parquet file", "arrow": "an Arrow file", "tfrecord": "a TFRecord file", "idx": "an IDX file", "jsonl": "JSON", "csv": "text", "npy": "a NumPy array"}
	xy := []ColumnSpec{{Name: "x"}, {Name: "y", DType: "string"}}
	for _, format := range []string{"csv", "jsonl", "parquet", "arrow", "tfrecord", "idx", "cifar10", "npy", "npz"} {
		for what, data := range files {
			path := write(t, "t", data)
			spec := Spec{Format: format, Files: []string{path}, Images: path, Labels: path, Columns: xy, Header: true}
			if format == "npy" {
				spec.Columns = nil
			}
			err := readAll(spec, Context{Mode: Predict, Allocator: checked(t)})
			if format == "parquet" || format == "arrow" {
				spec.Columns = nil
			}
			said := err != nil && strings.Contains(err.Error(), "this is "+what+", expected ")
			switch {
			case what == own[format] && said:
				t.Errorf("%s: its own file is taken for another: %v", format, err)
			case what == own[format], what == "empty" && (err == nil || strings.Contains(err.Error(), "empty")):
			case !said:
				t.Errorf("%s: got %v, expected that this is %s", format, err, what)
			case !strings.Contains(err.Error(), path+": "):
				t.Errorf("%s: the error does not name the file: %v", format, err)
			}
		}
	}
}

// TestTextIsNotTakenForAnother: a file that begins like another kind, but is text,
// is read.
func TestTextIsNotTakenForAnother(t *testing.T) {
	for _, text := range []string{"PAR1,b\nx,y\n", "ARROW1,b\nx,y\n", "BZh9,b\nx,y\n", "PK,b\nx,y\n", "%P,b\nx,y\n", "[1,2]\n", "{,}\n", "a\n", "é,ü\n", "日本語,語\n", "7z,b\n"} {
		cells := strings.Count(text[:strings.Index(text, "\n")], ",") + 1
		var columns []ColumnSpec
		for i := range cells {
			columns = append(columns, ColumnSpec{Name: fmt.Sprint("column", i), DType: "string"})
		}
		if err := readAll(Spec{Format: "csv", Files: []string{write(t, "t", []byte(text))}, Columns: columns}, Context{}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		head := []byte(rapid.String().Draw(t, "text"))
		if k, ok := binaryKind(head); ok && bytes.IndexByte(head, 0) < 0 && k.format != "tfrecord" {
			t.Fatalf("%q is taken for %s", head, k.what)
		}
	})
}
