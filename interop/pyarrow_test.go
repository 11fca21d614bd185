package interop_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// Files written by pyarrow read back equal: types, lists, dictionaries, several row
// groups and batches, compressions, both IPC formats.
func TestReadsArrowFiles(t *testing.T) {
	py := peers(t)
	dir := t.TempDir()
	py.run(t, "write_arrow.py", dir)
	want := load(t, filepath.Join(dir, "want"))
	files, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil || len(files) != 12 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			open := inputs.ArrowFile
			if strings.HasSuffix(file, ".parquet") {
				open = inputs.Parquet
			}
			ds, err := open([]string{file}, inputs.ArrowOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := columns(t, ds)
			if filepath.Base(file) == "plain.parquet" { // the length of lists is in the Arrow schema, which this file does not have
				got["vector"].Shape = want["vector"].Shape
			}
			for name, w := range want {
				equal(t, name, got[name], w)
			}
		})
	}
}

// columns reads all rows of a data set. The offsets of a ragged column have
// its name plus "/offsets".
func columns(t *testing.T, ds inputs.Dataset) map[string]*tensor.Tensor {
	t.Helper()
	out, err := readColumns(t, ds)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// readColumns is columns, but returns an error if the data set cannot be read.
func readColumns(t *testing.T, ds inputs.Dataset) (map[string]*tensor.Tensor, error) {
	it, err := ds.Iterate(t.Context())
	if err != nil {
		return nil, err
	}
	defer it.Close()
	out := map[string]*tensor.Tensor{}
	for {
		rec, err := it.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		all, err := inputs.Tensors(rec, ds.Schema())
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			appendColumn(out, c)
		}
		rec.Release()
	}
}

func appendColumn(out map[string]*tensor.Tensor, c inputs.NamedTensor) {
	x := out[c.Name]
	if x == nil {
		x = &tensor.Tensor{DType: c.Tensor.DType, Shape: append([]int{0}, c.Tensor.Shape[1:]...)}
		out[c.Name] = x
	}
	before := x.Shape[0]
	x.Shape[0] += c.Tensor.Shape[0]
	more := c.Tensor.Clone() // c's memory belongs to the record
	x.Bytes, x.Strings = append(x.Bytes, more.Bytes...), append(x.Strings, more.Strings...)
	if c.Offsets == nil {
		return
	}
	ends := out[c.Name+"/offsets"]
	if ends == nil {
		ends = tensor.New(tensor.Int32, 1)
		out[c.Name+"/offsets"] = ends
	}
	for _, o := range c.Offsets[1:] {
		end := tensor.Scalar(int32(before) + o - c.Offsets[0])
		ends.Bytes = append(ends.Bytes, end.Bytes...)
	}
	ends.Shape[0] += len(c.Offsets) - 1
}

// pyarrow reads the predictions that the command line writes.
func TestPyarrowReadsPredictions(t *testing.T) {
	py := peers(t)
	dir := t.TempDir()
	j := small("adam", filepath.Join(dir, "model"))
	train(t, j.estimator(t), glyphs(t, 64), 32)
	write(t, filepath.Join(dir, "config.yaml"), []byte(`
model_dir: `+j.dir+`
seed: 7
model: {name: mlp, params: {classes: 10, hidden_units: [32, 16]}}
optimizer: {name: adam, learning_rate: 0.01}
predict: {input: {format: glyphs, count: 70, batch_size: 32}}
`))
	predict := func(file string) string {
		path := filepath.Join(dir, file)
		var stdout, stderr bytes.Buffer
		if code := cli.Run(t.Context(), []string{"predict", "--config", filepath.Join(dir, "config.yaml"), "--output", path}, &stdout, &stderr); code != 0 {
			t.Fatalf("predict: exit code %d\n%s", code, stderr.String())
		}
		return path
	}
	parquet, arrow := predict("p.parquet"), predict("p.arrow")
	ds, err := inputs.Parquet([]string{parquet}, inputs.ArrowOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := save(t, filepath.Join(dir, "want"), columns(t, ds))
	py.run(t, "read_predictions.py", parquet, want)
	py.run(t, "read_predictions.py", arrow, want)
}
