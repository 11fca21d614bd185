package interop_test

import (
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/inputs"
)

// TFRecord files by TensorFlow are parsed like TensorFlow parses them:
// dense features with defaults, ragged features, vocabularies.
func TestReadsTFRecords(t *testing.T) {
	py := peers(t)
	dir := t.TempDir()
	py.run(t, "write_tfrecord.py", dir)
	want := load(t, filepath.Join(dir, "want"))
	specs := []inputs.ColumnSpec{
		{Name: "float"}, {Name: "int", DType: "int64"}, {Name: "text", DType: "string"}, {Name: "vector", Shape: []int{2, 3}},
		{Name: "pair", DType: "int64", Shape: []int{2}}, {Name: "sometimes", Default: -1.5},
		{Name: "numbers", Ragged: true}, {Name: "ids", DType: "int64", Ragged: true}, {Name: "words", DType: "string", Ragged: true},
	}
	ids := []inputs.ColumnSpec{{Name: "words", Ragged: true, Vocabulary: []string{"ab", "grüß"}}}
	for _, name := range []string{"plain.tfrecord", "packed.tfrecord.gz"} {
		t.Run(name, func(t *testing.T) {
			file := []string{filepath.Join(dir, name)}
			ds, err := inputs.TFRecord(file, inputs.ArrowOptions{Columns: specs})
			if err != nil {
				t.Fatal(err)
			}
			got := columns(t, ds)
			for _, s := range specs {
				equal(t, s.Name, got[s.Name], want[s.Name])
				if s.Ragged {
					equal(t, s.Name+"/offsets", got[s.Name+"/offsets"], want[s.Name+"/offsets"])
				}
			}
			if ds, err = inputs.TFRecord(file, inputs.ArrowOptions{Columns: ids}); err != nil {
				t.Fatal(err)
			}
			equal(t, "ids of words", columns(t, ds)["words"], want["word_ids"])
		})
	}
}
