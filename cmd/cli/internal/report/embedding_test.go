package report

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// projected makes a folder like the ones that run.projector writes.
func projected(t *testing.T, vectors, words string) string {
	t.Helper()
	dir := t.TempDir()
	config := "embeddings {\n  tensor_name: \"a \\\"b\\\"/embedding_weights\"\n  tensor_path: \"projector/00_a.tsv\"\n"
	files := map[string]string{"projector/00_a.tsv": vectors}
	if words != "" {
		config += "  metadata_path: \"projector/00_a_words.tsv\"\n"
		files["projector/00_a_words.tsv"] = words
	}
	files["projector_config.pbtxt"] = config + "}\n"
	if err := os.Mkdir(filepath.Join(dir, "projector"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestEmbeddings: vectors in a plane keep their distances, and the longer direction comes first.
func TestEmbeddings(t *testing.T) {
	var vectors, words strings.Builder
	for i := range 8 {
		u, v := 3*float64(i%4)-4.5, float64(i/4)-0.5 // along (0, 0.6, 0.8) and (1, 0, 0), around (10, 20, 30)
		fmt.Fprintf(&vectors, "%g\t%g\t%g\n", 10+v, 20+0.6*u, 30+0.8*u)
		fmt.Fprintf(&words, "w%d\n", i)
	}
	got, err := readEmbeddings(projected(t, vectors.String(), words.String()))
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	e := got[0]
	if e.Table != `a "b"/embedding_weights` || e.Rows != 8 || e.Width != 3 || e.words[7] != "w7" {
		t.Errorf("got %+v", e)
	}
	for i, p := range e.points {
		if u, v := 3*float64(i%4)-4.5, float64(i/4)-0.5; math.Abs(p[0]-u) > 1e-9 || math.Abs(p[1]-v) > 1e-9 {
			t.Errorf("row %d: %v, expected %g, %g", i, p, u, v)
		}
	}
	if want := 11.25 / 11.5; math.Abs(e.Explained[0]-want) > 1e-9 || math.Abs(e.Explained[1]-1+want) > 1e-9 {
		t.Errorf("explained %v, expected %g", e.Explained, want)
	}
	var page bytes.Buffer
	if err := (&Run{Embeddings: got}).Write(&page); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "<h2>Embeddings</h2>") || !strings.Contains(page.String(), `"name":"w7"`) || !strings.Contains(page.String(), `"text":"a \"b\""`) {
		t.Error("the page has no embeddings")
	}
}

// TestEmbeddingsLeftOut: tables that are too small are left out, equal rows coincide in one point, and malformed files are errors.
func TestEmbeddingsLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		vectors string
		tables  int
		wrong   string
	}{
		"nothing":        {"", 0, ""},
		"two rows":       {"1\t2\n3\t4\n", 0, ""},
		"one number":     {"1\n2\n3\n", 0, ""},
		"equal rows":     {"1\t2\n1\t2\n1\t2\n", 1, ""},
		"not a number":   {"1\t2\n1\tx\n1\t2\n", 0, `00_a.tsv:2: "x" is no finite number`},
		"NaN":            {"1\t2\n1\tNaN\n1\t2\n", 0, "no finite number"},
		"rows differ":    {"1\t2\n1\n1\t2\n", 0, "1 numbers, expected 2"},
		"too large":      {"1e200\t2\n-1e200\t3\n1\t1e200\n", 0, "too large to be compared"},
		"greatest":       {"3e38\t2\n-3e38\t3\n1\t3e38\n", 1, ""},
		"widest":         {strings.Repeat(strings.Repeat("1\t", widestVector-1)+"1\n", 3), 1, ""},
		"too wide":       {strings.Repeat(strings.Repeat("1\t", widestVector)+"1\n", 3), 0, ""},
		"more than most": {strings.Repeat("1\t2\n3\t5\n", mostVectors), 1, ""},
	} {
		got, err := readEmbeddings(projected(t, c.vectors, ""))
		if len(got) != c.tables || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %d tables, %v", name, len(got), err)
		}
		for _, e := range got {
			if e.Rows > mostVectors || math.IsNaN(e.points[0][0]) || math.IsNaN(e.Explained[0]) {
				t.Errorf("%s: got %+v", name, e)
			}
		}
	}
	two := projected(t, "1\t2\n3\t5\n1\t1\n", "")
	if err := os.WriteFile(filepath.Join(two, "projector_config.pbtxt"), []byte("embeddings {\n tensor_name: \"none\"\n tensor_path: \"none.tsv\"\n}\nembeddings {\n tensor_name: \"a\"\n tensor_path: \"projector/00_a.tsv\"\n}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readEmbeddings(two); len(got) != 1 || err == nil {
		t.Errorf("a table beside one that is gone: %v, %v", got, err)
	}
	dir := t.TempDir()
	if got, err := readEmbeddings(dir); got != nil || err != nil {
		t.Errorf("an empty folder: %v, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "projector_config.pbtxt"), []byte("embeddings {\n tensor_name: \"a\"\n tensor_path: \"../a.tsv\"\n}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readEmbeddings(dir); err == nil || !strings.Contains(err.Error(), "below model_dir") {
		t.Errorf("a file elsewhere: %v", err)
	}
}
