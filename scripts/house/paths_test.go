package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// backquoted finds text in backquotes.
var backquoted = regexp.MustCompile("`[^`\n]+`")

var (
	// pathWord is a word that may be a path: a folder, and names below it.
	pathWord = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$`)
	// placeholder is a part of a path that stands for any name.
	placeholder = regexp.MustCompile(`\bNAME\b`)
)

// missingPaths returns, for each path in backquotes in a page that begins with a
// folder of the repository and does not exist, a line that names it. files are the
// repository's files.
func missingPaths(page, text string, files []string) []string {
	known := map[string]bool{}
	for _, f := range files {
		for at, c := range f {
			if c == '/' {
				known[f[:at]] = true
			}
		}
		known[f] = true
	}
	var missing []string
	for number, line := range strings.Split(text, "\n") {
		for _, quote := range backquoted.FindAllString(line, -1) {
			for word := range strings.FieldsSeq(strings.Trim(quote, "`")) {
				word = strings.TrimRight(strings.TrimPrefix(word, "./"), "/.,:;")
				top, _, _ := strings.Cut(word, "/")
				if pathWord.MatchString(word) && !placeholder.MatchString(word) && known[top] && !known[word] {
					missing = append(missing, fmt.Sprintf("%s:%d: `%s` does not exist", page, number+1, word))
				}
			}
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// TestPathsInDocs checks that each path of the repository that a page names in backquotes exists.
func TestPathsInDocs(t *testing.T) {
	out, err := exec.Command("git", "-C", "../..", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("skipped: git ls-files: %v", err)
	}
	files := strings.Fields(string(out))
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages in docs: %v", len(pages), err)
	}
	for _, page := range append(pages, "../../CONTRIBUTING.md", "../../README.md", "../../SECURITY.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, missing := range missingPaths(strings.TrimPrefix(page, "../../"), string(text), files) {
			t.Error(missing)
		}
	}
}

func TestMissingPaths(t *testing.T) {
	files := []string{"docs/page.md", "inputs/csv/read.go"}
	text := "`inputs/csv`, `inputs/csv/read.go`, `go test ./inputs/csv/...` `other/thing` and `inputs/NAME.csv` are fine.\n" +
		"`inputs/cvs` and `go test ./inputs/gone/` are not."
	want := []string{"docs/page.md:2: `inputs/cvs` does not exist", "docs/page.md:2: `inputs/gone` does not exist"}
	if d := cmp.Diff(want, missingPaths("docs/page.md", text, files)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
