package inputs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// TestDefaultOfColumn: the schema has the default of a missing value, as the pipeline fills it in, in each
// format.
func TestDefaultOfColumn(t *testing.T) {
	specs := []ColumnSpec{{Name: "f", Default: 2.5}, {Name: "v", Shape: []int{2}, Default: 4}, {Name: "i", DType: "int64", Default: 7}, {Name: "w", DType: "string", Default: "q"},
		{Name: "k", Vocabulary: []string{"a", "b"}, Default: "b"}, {Name: "b", DType: "bool", Default: true}, {Name: "n"}}
	want := map[string]string{"f": "float32[] [2.5]", "v": "float32[2] [4 4]", "i": "int64[] [7]", "w": `string[] ["q"]`, "k": "int64[] [1]", "b": "bool[] [1]", "n": ""}
	line := `{"f": 1, "v": [1, 2], "i": 3, "w": "x", "k": "a", "b": false, "n": 1}` + "\n"
	csv := Spec{Format: "csv", Files: []string{write(t, "t.csv", []byte("1,1,2,3,x,a,false,1\n"))}, Columns: specs}
	for format, spec := range map[string]Spec{"csv": csv, "jsonl": {Format: "jsonl", Files: []string{write(t, "t.jsonl", []byte(line))}, Columns: specs},
		"parquet": {Format: "parquet", Files: []string{"testdata/snappy.parquet"}, Columns: []ColumnSpec{{Name: "f32", Default: 2.5}}}} {
		spec.BatchSize = 1
		ds, err := Open(t.Context(), spec, Context{Mode: Predict})
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		for _, c := range ds.Schema().Columns() {
			expected, known := want[c.Name]
			if !known {
				expected = "float32[] [2.5]"
			}
			if got := shownDefault(c); got != expected {
				t.Errorf("%s, column %s: default %s, expected %s", format, c.Name, got, expected)
			}
		}
	}
	csv.BatchSize, csv.Scale, csv.Mean, csv.Std = 1, 2, []float64{1}, []float64{0.5}
	ds, err := Open(t.Context(), csv, Context{Mode: Predict})
	if err != nil {
		t.Fatal(err)
	}
	for name, expected := range map[string]string{"f": "float32[] [0.5]", "v": "float32[2] [2 2]", "i": "float32[] [5]", "k": "int64[] [1]"} {
		if c, err := ds.Schema().Column(name); err != nil || shownDefault(c) != expected {
			t.Errorf("normalized, column %s: %v, default %s, expected %s", name, err, shownDefault(c), expected)
		}
	}
	image := Column{Name: "x", DType: tensor.Float32, Shape: []int{2}, Default: tensor.Scalar(float32(1))}
	if _, err := NewSchema(image); err == nil || !strings.Contains(err.Error(), "its default is float32[], expected float32[2]") {
		t.Errorf("got %v", err)
	}
}

func shownDefault(c Column) string {
	if c.Default == nil {
		return ""
	}
	if c.DType == tensor.String {
		return fmt.Sprintf("%s%v %q", c.Default.DType, c.Default.Shape, c.Default.Strings)
	}
	var out []float64
	for i := range c.Default.Len() {
		out = append(out, c.Default.Float(i))
	}
	return fmt.Sprintf("%s%v %v", c.Default.DType, slices.Clone(c.Default.Shape), out)
}
