package tabular_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// parts writes files below a folder and returns it.
func parts(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// TestParts: the files of a folder or a glob are one table, in each format; folders key=value are columns for Parquet and Arrow files.
func TestParts(t *testing.T) {
	for name, text := range formats(t) {
		ext := filepath.Ext(name)
		dir := parts(t, map[string]string{"year=2023/a" + ext: text, "year=2024/b" + ext: text, "year=2024/_SUCCESS": "", ".hidden" + ext: "x"})
		one := parts(t, map[string]string{name: text})
		alone, err := tabular.Read(t.Context(), filepath.Join(one, name), tabular.Options{Label: "kind"})
		check(t, err)
		for _, path := range []string{dir, filepath.Join(dir, "**", "*"+ext), filepath.Join(dir, "year=20*")} {
			p, err := tabular.Read(t.Context(), path, tabular.Options{Label: "kind"})
			check(t, err)
			if !tabular.IsFolder(dir) || p.Rows != 2*alone.Rows || p.Label.Classes[0].Count != 2*alone.Label.Classes[0].Count || p.Path != path {
				t.Errorf("%s of %s: %d rows of %s, expected %d", path, name, p.Rows, p.Path, 2*alone.Rows)
			}
			want := strings.Join(alone.Names(), " ")
			if hinted := strings.Contains(strings.Join(p.Hints(), "\n"), "the folders: year would be columns of Parquet"); hinted != (ext != ".parquet" && ext != ".arrow") {
				t.Errorf("%s: hints %q", path, p.Hints())
			}
			if ext == ".parquet" || ext == ".arrow" {
				want += " year"
			}
			if got := strings.Join(p.Names(), " "); got != want {
				t.Errorf("%s: columns %s, expected %s", path, got, want)
			}
			if last := p.Columns[len(p.Columns)-1]; last.Name == "year" && (last.Kind != tabular.Number || last.Missing != 0) {
				t.Errorf("%s: year is %v, %d are missing", path, last.Kind, last.Missing)
			}
		}
	}
}

// TestPartsOfFolders: folder names are decoded, and a number may be missing.
func TestPartsOfFolders(t *testing.T) {
	text := formats(t)["t.parquet"]
	dir := parts(t, map[string]string{"the%20year=2023/a.parquet": text, "the%20year=__HIVE_DEFAULT_PARTITION__/b.parquet": text})
	p, err := tabular.Read(t.Context(), dir, tabular.Options{})
	check(t, err)
	if c := p.Columns[len(p.Columns)-1]; c.Name != "the year" || c.Kind != tabular.Number || 2*c.Missing != p.Rows {
		t.Errorf("%s is %s, %d of %d are missing", c.Name, c.Kind, c.Missing, p.Rows)
	}
}

// TestPartsOfTexts: repeated headers are counted in all files; the last line need not end; different columns and files that are no tables are errors.
func TestPartsOfTexts(t *testing.T) {
	rows := "a,b,y\n1,2,x\na,b,y\n"
	p, err := tabular.Read(t.Context(), parts(t, map[string]string{"1.csv": rows, "2.csv": rows, "3.csv": "a,b,y\n5,6,z"}), tabular.Options{})
	check(t, err)
	if p.Rows != 3 || p.Repeated != 2 {
		t.Errorf("%d rows, %d repeat the names", p.Rows, p.Repeated)
	}
	p, err = tabular.Read(t.Context(), parts(t, map[string]string{"1.jsonl": `{"a":1}`, "2.jsonl": `{"a":2,"b":"x"}`}), tabular.Options{})
	check(t, err)
	if p.Rows != 2 || fmt.Sprint(p.Names()) != "[a b]" {
		t.Errorf("%d rows of %v", p.Rows, p.Names())
	}
	for want, files := range map[string]map[string]string{
		"2.csv has the columns a, c, expected those of": {"1.csv": "a,b\n1,2\n", "2.csv": "a,c\n1,2\n"},
		"2.csv: line 3 has 1 cells":                     {"1.csv": "a,b\n1,2\n", "2.csv": "a,b\n1,2\n3\n"},
		"2.csv is empty: expected a row of names":       {"1.csv": "a,b\n1,2\n", "2.csv": "", "3.csv": "a,b\n1,2\n"},
		"is a folder without files":                     {"none/.x": ""},
	} {
		dir := parts(t, files)
		if _, err := tabular.Read(t.Context(), dir, tabular.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
	for _, files := range []map[string]string{{"cat/1.png": ""}, {".x.csv": "a"}, {"notes.txt": "a"}, {"1.csv": "a", "2.csv.gz": "", "page.html": ""}} {
		if tabular.IsFolder(parts(t, files)) {
			t.Errorf("%v is a folder of tables", files)
		}
	}
	if _, err := tabular.Read(t.Context(), filepath.Join(t.TempDir(), "*.csv"), tabular.Options{}); err == nil || !strings.Contains(err.Error(), "no file matches") {
		t.Errorf("got %v", err)
	}
}
