package keras

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
)

func Example() {
	fmt.Println(snake("Conv2D"), snake("BatchNormalization"), snake("DepthwiseConv2D"), snake("PReLU"), snake("mine>GRU"), snake("Conv2DTranspose"))
	// Output: conv2d batch_normalization depthwise_conv2d p_re_lu gru conv2d_transpose
}

func TestVariable(t *testing.T) {
	for path, want := range map[string]string{
		"Conv1/Conv1/kernel:0":                     "Conv1/kernel",
		"model_weights/Conv1/Conv1/kernel:0":       "Conv1/kernel",
		"model_weights/outer/inner/dense/kernel:0": "inner/dense/kernel",
		"model_weights/plain/kernel:0":             "kernel",
		"optimizer_weights/iteration:0":            "",
		"layers/dense/vars/0":                      "",
		"data":                                     "",
	} {
		if got := variable(path); got != want {
			t.Errorf("%s: got %q, expected %q", path, got, want)
		}
	}
}

// archive returns a model with a config and an HDF5 file.
func archive(t testing.TB, config string, method uint16) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	data, err := os.ReadFile("../../../models/weights/testdata/late.h5")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{configFile: config, weightsFile: string(data)} {
		m, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(data []byte) ([]tensorfile.Entry, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", tensorfile.ErrFormat, err)
	}
	if !IsArchive(z) {
		return nil, tensorfile.Errorf("no model")
	}
	return ReadArchive(z, bytes.NewReader(data))
}

func TestReadArchiveRefuses(t *testing.T) {
	for config, method := range map[string]uint16{"{": zip.Store, `{"config":{"layers":[1]}}`: zip.Store, "{}": zip.Deflate} {
		if _, err := read(archive(t, config, method)); !errors.Is(err, tensorfile.ErrFormat) {
			t.Errorf("%s: %v", config, err)
		}
	}
	// Config values of other types than Keras uses are ignored.
	for _, config := range []string{"{}", `{"config":5}`, `{"config":{"layers":[{"class_name":"Dense","config":{"name":7}}]}}`} {
		if list, err := read(archive(t, config, zip.Store)); err != nil || len(list) != 2 {
			t.Errorf("%s: %d datasets, %v", config, len(list), err)
		}
	}
}

// A model's description takes more memory than its bytes and may be compressed, so the amount parsed is bounded.
func TestReadArchiveBoundsTheConfig(t *testing.T) {
	layers := func(n int) string {
		return `{"config":{"layers":[` + strings.Repeat("{},", n-1) + `{}]}}`
	}
	nested := `{"class_name":"A","config":{"p":"` + strings.Repeat("x", 3<<20) + `"}}`
	for range maxNesting {
		nested = `{"class_name":"A","config":{"layers":[` + nested + `]}}`
	}
	longPaths := `{"config":{"layers":[{"class_name":"` + strings.Repeat("x", 1<<20) + `","config":` + layers(1000)[len(`{"config":`):] + `]}}`
	for name, c := range map[string]struct {
		config string
		want   string
	}{
		"long paths":      {longPaths, "too long names of classes"},
		"the most layers": {layers(maxLayers), ""}, "a layer more": {layers(maxLayers + 1), "more than 65536 layers"}, "nested": {nested, "too many nested ones"},
		"the most bytes": {"{}" + strings.Repeat(" ", maxConfig-2), ""}, "a byte more": {"{}" + strings.Repeat(" ", maxConfig-1), "more than 8388608 bytes"},
	} {
		_, err := read(archive(t, c.config, zip.Store))
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, tensorfile.ErrFormat) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// FuzzArchive: no archive causes a panic.
func FuzzArchive(f *testing.F) {
	data, err := os.ReadFile("../../../models/weights/testdata/model.keras")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(archive(f, `{"config":{"layers":[{"class_name":"Dense","config":{"name":"d"}}]}}`, zip.Store))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := read(data); err != nil && !errors.Is(err, tensorfile.ErrFormat) {
			t.Fatal(err)
		}
	})
}

// A layer's name, which each of its variables would repeat, is bounded: beyond it, variables keep their paths.
func TestLongNames(t *testing.T) {
	for n, want := range map[int]string{maxName: strings.Repeat("x", maxName) + "/kernel", maxName + 1: "", 0: ""} {
		l := layers{"layers/dense": {Class: "Dense", settings: settings{Name: strings.Repeat("x", n)}}}
		if got := l.variable("layers/dense/vars/0"); got != want {
			t.Errorf("a name of %d bytes: got %.20q", n, got)
		}
	}
}
