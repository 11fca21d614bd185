package cli

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

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

// No predictions make a file without rows, not a broken one; a failing run leaves none.
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
