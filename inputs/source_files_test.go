package inputs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSourceFiles: the same files have the same description in any folder and however workers share them; other files have another one.
func TestSourceFiles(t *testing.T) {
	open := func(files map[string]string, steps ...Transform) string {
		t.Helper()
		dir := t.TempDir()
		var names []string
		for name, text := range files {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			names = append(names, path)
		}
		ds, err := CSV(names, CSVOptions{Columns: []ColumnSpec{{Name: "x"}}})
		if err != nil {
			t.Fatal(err)
		}
		return SourceFiles(Pipe(ds, steps...))
	}
	two := map[string]string{"a.csv": "1\n2\n", "b.csv": "3\n"}
	want := open(two)
	if !strings.HasPrefix(want, "2 files of 6 bytes (a.csv b.csv), digest ") {
		t.Errorf("got %q", want)
	}
	for _, step := range []Transform{ShardFiles(1, 2), Shard(0, 2), Batch(2, false)} {
		if got := open(two, step); got != want {
			t.Errorf("got %q, expected %q", got, want)
		}
	}
	for _, other := range []map[string]string{{"a.csv": "1\n2\n"}, {"a.csv": "1\n22\n", "b.csv": "3\n"}, {"a.csv": "1\n", "b.csv": "3\n4\n"}, {"a.csv": "1\n2\n", "c.csv": "3\n"}} {
		if got := open(other); got == want {
			t.Errorf("%v: also %q", other, got)
		}
	}
	rows, err := Generator(nil, ArrowOptions{Columns: []ColumnSpec{{Name: "x", DType: "float32"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := SourceFiles(rows); got != "" {
		t.Errorf("a generator: %q", got)
	}
}
