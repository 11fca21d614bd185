package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRepository makes the site of this repository: it has no broken links and loads nothing from elsewhere.
func TestRepository(t *testing.T) {
	out := t.TempDir()
	var stdout bytes.Buffer
	if err := run([]string{"-out", out}, &stdout); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, "tasks", "tabular.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`href="../style.css"`, `href="../config.html`, `class="chroma"`, `aria-current="page"`} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the page has no %s", want)
		}
	}
	whole(t, out)
}

// whole fails if pages of a site load something from another host, or refer to missing files.
func whole(t *testing.T, out string) {
	refers := regexp.MustCompile(`<(\w+)[^>]*\s(?:src|href)="([^"#]+)`)
	seen := map[string]int{}
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".html" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range refers.FindAllStringSubmatch(string(b), -1) {
			element, to := m[1], m[2]
			seen[element]++
			if strings.Contains(to, ":") || strings.HasPrefix(to, "//") {
				if element != "a" {
					t.Errorf("%s loads %s from another host", path, to)
				}
			} else if _, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(to))); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		return nil
	})
	if err != nil || seen["img"] == 0 || seen["a"] == 0 {
		t.Errorf("got %v and %v, expected links and images", err, seen)
	}
}

// TestLinks checks that broken links are reported with their lines.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "other.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	text := "# A `b` c, d\n\n## A b c d\n\n[1](#a-b-c-d) [2](#a-b-c-d-1) [3](other.txt) [4](https://example.org/x)\n\n[5](#e)\n[6](none.md) ![7](none.png) [8](../x.md)\n"
	p := parse("a.md", []byte(text))
	s := &site{root: dir, pages: []*page{p}, byPath: map[string]*page{"a.md": p}}
	err := s.check()
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{"a.md:7: link to #e: a.md has no heading #e", "a.md:8: link to none.md: there is no none.md", "a.md:8: link to none.png: there is no none.png",
		"a.md:8: link to ../x.md: it leads out of the repository"}
	if got := strings.Split(err.Error(), "\n"); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, expected %q", got, want)
	}
}
