package interop_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestReadsFrames: each type that pandas, polars and DuckDB write either reads back equal, or gives an error that names it and the column.
func TestReadsFrames(t *testing.T) {
	py := peers(t)
	if err := exec.Command(py.path, "-c", "import pandas, polars, duckdb").Run(); err != nil {
		t.Skip("skipped: pandas, polars and duckdb are not installed (make peers)")
	}
	dir := t.TempDir()
	py.run(t, "frames.py", dir)
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
}
