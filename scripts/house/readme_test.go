package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeLinksPages checks that the README links every page, so that readers can find it.
func TestReadmeLinksPages(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages of docs/, error %v: expected at least 30", len(pages), err)
	}
	for _, p := range pages {
		if link := "](docs/" + filepath.Base(p) + ")"; !strings.Contains(string(readme), link) {
			t.Errorf("docs/%s has no link in the README: add it to its table", filepath.Base(p))
		}
	}
}
