package cli

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/filelock"
	"github.com/goestimator/goestimator/tensor"
)

func TestJSONLines(t *testing.T) {
	matrix, err := tensor.FromSlice([]float32{1, 0.1, float32(math.NaN()), -2e-9}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	words, err := tensor.FromStrings([][]byte{[]byte(`say "a"`), []byte("<=5 & >2")}, 2)
	if err != nil {
		t.Fatal(err)
	}
	none, err := tensor.FromSlice([]int32{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := newJSONLines(&out)
	row := []namedValue{{"byte", tensor.Scalar(uint8(200))}, {"d", tensor.Scalar(0.1)}, {"id", tensor.Scalar(int64(math.MaxInt64))}, {"m", matrix},
		{"none", none}, {"ok", tensor.Scalar(true)}, {"w", words}}
	if err := w.Write(row); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := `{"byte":200,"d":0.1,"id":9223372036854775807,"m":[[1,0.1],[null,-2e-09]],"none":[],"ok":true,"w":["say \"a\"","<=5 & >2"]}` + "\n"
	if out.String() != want {
		t.Errorf("got  %sexpected %s", out.String(), want)
	}
	if err := w.Write([]namedValue{{"c", tensor.New(tensor.Complex64)}}); err == nil {
		t.Error("complex64: expected an error")
	}
}

// Without predictions the file is valid and has no rows; a failed run leaves no file.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	for _, ext := range sortedNames(outputFormats) {
		path := filepath.Join(dir, "empty"+ext)
		n, err := writeFile(path, func(w predictionWriter) (int64, error) { return 0, w.Close() })
		if err != nil || n != 0 {
			t.Errorf("%s: %v", ext, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		if _, err := writeFile(filepath.Join(dir, "failed"+ext), func(predictionWriter) (int64, error) { return 0, errReported }); err != errReported {
			t.Errorf("%s: got %v", ext, err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != len(outputFormats) {
		t.Errorf("files left: %v %v", left, err)
	}
}

// A file that a killed writer left behind is removed by the next writer of the same name, a file still being written is not.
func TestWriteFileAfterKill(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	for _, name := range []string{"a.csv.tmp-1", "a.csv.tmp-2", "b.csv.tmp-1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held, err := os.OpenFile(filepath.Join(dir, "a.csv.tmp-2"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := filelock.Try(held); err != nil {
		t.Fatal(err)
	}
	if _, err := writeFile(path, func(w predictionWriter) (int64, error) { return 0, w.Close() }); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 || left[0].Name() != "a.csv" || left[1].Name() != "a.csv.tmp-2" || left[2].Name() != "b.csv.tmp-1" {
		t.Errorf("files left: %v %v", left, err)
	}
}

func TestPlainName(t *testing.T) {
	for name, want := range map[string]string{"a.csv": "a.csv", "a.csv.gz": "a.csv", "a.jsonl.zst": "a.jsonl", "b.csv.bz2": "b.csv", "d/a.csv.gz.gz": "d/a.csv.gz"} {
		if got := plainName(name); got != want {
			t.Errorf("%s: got %s, expected %s", name, got, want)
		}
	}
}
