package interop_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// arrowKind is a case of python/arrow_kinds.py.
type arrowKind struct {
	Name    string   `json:"name"`
	Files   []string `json:"files"`
	Refused string   `json:"refused"` // what the error names: the type, encoding or codec
	Default string   `json:"default"` // for nulls, or the type to read
	DType   string   `json:"dtype"`   // to read, for files without types
}

// TestReadsArrowKinds: each type, encoding and codec that pyarrow writes either reads back equal, or gives an error that names it and the column.
func TestReadsArrowKinds(t *testing.T) {
	py := peers(t)
	dir := t.TempDir()
	py.run(t, "arrow_kinds.py", dir)
	want := load(t, filepath.Join(dir, "want"))
	data, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	var cases []arrowKind
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		for _, file := range c.Files {
			t.Run(file, func(t *testing.T) { c.check(t, filepath.Join(dir, file), want) })
		}
	}
	t.Run("partitions", func(t *testing.T) { checkPartitions(t, dir, want) })
}

// check reads a file of the case.
func (c arrowKind) check(t *testing.T, file string, want map[string]*tensor.Tensor) {
	x := inputs.ColumnSpec{Name: "x", DType: c.DType}
	switch {
	case c.Default == "float32":
		x.DType = c.Default
	case c.Default != "":
		x.Default = c.Default
	}
	spec := inputs.Spec{Format: formatOf(file), Files: []string{file}, Columns: []inputs.ColumnSpec{{Name: "row", DType: "int64"}, x}, BatchSize: 7}
	if spec.Format == "csv" {
		spec.Header, spec.Columns[1].DType, spec.Columns[1].Default = true, "string", ""
	}
	got, err := readSpec(t, spec)
	if c.Refused != "" {
		if err == nil || !strings.Contains(err.Error(), c.Refused) || !strings.Contains(err.Error(), filepath.Base(file)) || c.Refused != "Arrow IPC file" && !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("got %v, expected an error with the column and %s", err, c.Refused)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	equal(t, c.Name, got["x"], want[c.Name])
	if offsets := want[c.Name+"/offsets"]; offsets != nil {
		equal(t, c.Name+"/offsets", got["x/offsets"], offsets)
	}
	for i, row := range tensor.Values[int64](got["row"]) {
		if row != int64(i) {
			t.Fatalf("row %d is %d", i, row)
		}
	}
}

// readSpec reads all rows of a spec.
func readSpec(t *testing.T, spec inputs.Spec) (map[string]*tensor.Tensor, error) {
	ds, err := inputs.Open(t.Context(), spec, inputs.Context{})
	if err != nil {
		return nil, err
	}
	return readColumns(t, ds)
}

// formatOf is the format of a file, by its extension.
func formatOf(file string) string {
	switch filepath.Ext(file) {
	case ".parquet":
		return "parquet"
	case ".csv", ".jsonl":
		return filepath.Ext(file)[1:]
	}
	return "arrow"
}

// checkPartitions reads folders that pyarrow partitioned by two columns.
func checkPartitions(t *testing.T, dir string, want map[string]*tensor.Tensor) {
	for folder, format := range map[string]string{"parts_parquet": "parquet", "parts_feather": "arrow"} {
		spec := inputs.Spec{Format: format, Files: []string{filepath.Join(dir, folder)}, BatchSize: 4,
			Columns: []inputs.ColumnSpec{{Name: "x", Default: "?"}, {Name: "n", Default: -1}, {Name: "row"}}}
		got, err := readSpec(t, spec)
		if err != nil {
			t.Fatal(err)
		}
		rows := tensor.Values[int64](got["row"])
		if len(rows) != want["parts/x"].Len() {
			t.Fatalf("%s: %d rows", folder, len(rows))
		}
		for i, row := range rows {
			x, n := string(got["x"].Strings[i]), tensor.Values[int64](got["n"])[i]
			if wantX, wantN := string(want["parts/x"].Strings[row]), tensor.Values[int64](want["parts/n"])[row]; x != wantX || n != wantN {
				t.Errorf("%s: row %d has %q and %d, expected %q and %d", folder, row, x, n, wantX, wantN)
			}
		}
	}
}
