package inputs

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/testkit"
)

// The faults that every source of files must report: each replaces a good file by a damaged one.
var faults = map[string]func(t *testing.T, good string) (bad string){
	"empty": func(t *testing.T, good string) string { return write(t, filepath.Base(good), nil) },
	"cut short": func(t *testing.T, good string) string {
		data := goodFile(t, good)
		end := len(data) - 5
		if utf8.Valid(data) { // within the last line
			end = bytes.LastIndexByte(data[:len(data)-1], '\n') + 2
		}
		return write(t, filepath.Base(good), data[:end])
	},
	"another kind": func(t *testing.T, good string) string {
		return write(t, filepath.Base(good), []byte("%PDF-1.7\n\x00\x01\x02"+strings.Repeat("x", 200)))
	},
	"a folder": func(t *testing.T, good string) string {
		dir := filepath.Join(t.TempDir(), filepath.Base(good))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	},
	"unreadable": func(t *testing.T, good string) string { // for root, too
		loop := filepath.Join(t.TempDir(), filepath.Base(good))
		if err := os.Symlink(loop, loop); err != nil {
			t.Fatal(err)
		}
		return loop
	},
	"missing": func(t *testing.T, good string) string { return filepath.Join(t.TempDir(), filepath.Base(good)) },
}

func goodFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// badFile returns an input with one faulty file, and the name of that file.
func badFile(t *testing.T, s Spec, damage func(t *testing.T, good string) string) (Spec, string) {
	t.Helper()
	switch {
	case s.Images != "":
		s.Images = damage(t, s.Images)
		return s, s.Images
	case s.Format == "images" || s.Format == "audio":
		s.Files = []string{map[string]func(testing.TB) string{"images": animals, "audio": words}[s.Format](t)}
		names, err := filepath.Glob(filepath.Join(s.Files[0], "*", "c.*"))
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		if err := os.WriteFile(names[0], goodFile(t, damage(t, names[0])), 0o600); err != nil {
			t.Fatal(err)
		}
		return s, names[0]
	}
	s.Files = slices.Clone(s.Files)
	s.Files[0] = damage(t, s.Files[0])
	return s, s.Files[0]
}

// TestBadFiles: every source of files reports every fault with the file's name and a reason, in one line.
func TestBadFiles(t *testing.T) {
	testkit.NotConcurrent(t)
	want := map[string][]string{
		"empty":        {"empty", "it is not a PNG, JPEG, WebP, GIF or BMP image", "it is not a WAV file"},
		"another kind": {"this is a PDF document", "it is not a PNG, JPEG, WebP, GIF or BMP image", "it is not a WAV file"},
		"a folder":     {"is a folder"}, "unreadable": {"too many levels of symbolic links"}, "missing": {"does not exist: check data_dir"},
		"cut short": {"cut short", "ends early", "is not an IDX file", "file is damaged", "or it is damaged", "line ends within its JSON object", "row has 1 cells, expected 2"},
	}
	tried := map[string]bool{"glyphs": true, "sql": true, "flight": true} // they read no files
	for name, good := range sources(t) {
		if len(good.Inputs()) > 0 || len(good.Files) == 0 && good.Images == "" || good.Stdin() {
			continue // combined inputs are made of the others
		}
		for fault, damage := range faults {
			inFolder := good.Format == "images" || good.Format == "audio"
			if inFolder && slices.Contains([]string{"a folder", "unreadable", "missing"}, fault) {
				continue // other files in the folder are no rows
			}
			tried[good.Format] = true
			t.Run(name+" "+fault, func(t *testing.T) {
				s, file := badFile(t, good, damage)
				err := readAll(s, Context{Mode: Train, Allocator: checked(t)})
				if err == nil {
					t.Fatal("no error")
				}
				says := slices.ContainsFunc(want[fault], func(w string) bool { return strings.Contains(err.Error(), w) })
				if !says || !strings.Contains(err.Error(), filepath.Base(file)) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v, expected %s and one of %q", err, filepath.Base(file), want[fault])
				}
			})
		}
	}
	for _, format := range Formats() {
		if !tried[format] && !slices.Contains(severalFormats, format) {
			t.Errorf("no fault of format %s is tried", format)
		}
	}
}

// TestBadColumns: every source with declared columns reports a missing column and, if it has types, a column of another type.
func TestBadColumns(t *testing.T) {
	testkit.NotConcurrent(t)
	wrong := map[string]ColumnSpec{"csv": {Name: "y", DType: "int64"}, "jsonl": {Name: "y", DType: "int64"}, "tfrecord": {Name: "y", DType: "int64"}, "sql": {Name: "word", DType: "int64"},
		"parquet": {Name: "word", DType: "int64"}, "arrow": {Name: "word", DType: "int64"}}
	for name, good := range sources(t) {
		if len(good.Columns) == 0 || len(good.Inputs()) > 0 || good.Stdin() {
			continue
		}
		missing := good
		missing.Columns = append(slices.Clone(good.Columns), ColumnSpec{Name: "nowhere"})
		if err := readAll(missing, Context{Mode: Train, Allocator: checked(t)}); err == nil || !strings.Contains(err.Error(), `column "nowhere"`) {
			t.Errorf("%s: a missing column: got %v", name, err)
		}
		column, typed := wrong[good.Format]
		if !typed {
			continue
		}
		other := good
		other.Columns = slices.Clone(good.Columns)
		at := slices.IndexFunc(other.Columns, func(c ColumnSpec) bool { return c.Name == column.Name })
		if at < 0 {
			at, other.Columns = 0, append([]ColumnSpec{{}}, other.Columns...)
		}
		other.Columns[at] = column
		if err := readAll(other, Context{Mode: Train, Allocator: checked(t)}); err == nil || !strings.Contains(err.Error(), `column "`+column.Name+`"`) || !strings.Contains(err.Error(), "int64") {
			t.Errorf("%s: a wrong type: got %v", name, err)
		}
	}
}
