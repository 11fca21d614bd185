package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The lines of CONTRIBUTING.md before and after the table of additions.
const (
	additionsBegin = "<!-- additions: checked by scripts/house -->\n"
	additionsEnd   = "<!-- end of additions -->\n"
)

// addition is a row of the table: what is added, in which files, and the names of an example.
type addition struct {
	what            string
	files, examples []string
}

var quoted = regexp.MustCompile("`([^`]+)`")

// readAdditions reads the table of a document. Files have a dot in their last part; other quoted text is prose.
func readAdditions(document string) ([]addition, error) {
	_, rest, ok := strings.Cut(document, additionsBegin)
	text, _, ok2 := strings.Cut(rest, additionsEnd)
	if !ok || !ok2 {
		return nil, fmt.Errorf("expected the lines %q and %q", strings.TrimSpace(additionsBegin), strings.TrimSpace(additionsEnd))
	}
	var out []addition
	for _, line := range strings.Split(text, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[1]) == "to add" {
			continue
		}
		a := addition{what: strings.TrimSpace(cells[1]), examples: between(cells[3])}
		for _, f := range between(cells[2]) {
			if strings.Contains(f, "/") && filepath.Ext(f) != "" {
				a.files = append(a.files, f)
			}
		}
		if len(a.files) == 0 || len(a.examples) == 0 {
			return nil, fmt.Errorf("%s: expected files and an example, in backquotes", a.what)
		}
		out = append(out, a)
	}
	return out, nil
}

// between returns the texts in backquotes.
func between(cell string) (out []string) {
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	return out
}

// check compares the files of a row with the files of the module at root that name its example.
func (a addition) check(root string, files []*source) (wrong []string) {
	escaped := make([]string, len(a.examples))
	for i, e := range a.examples {
		escaped[i] = regexp.QuoteMeta(e)
	}
	example := regexp.MustCompile(`\b(` + strings.Join(escaped, "|") + `)\b`)
	for _, f := range a.files {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f)))
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("%s: %s: %v", a.what, f, err))
		case filepath.Ext(f) != ".gz" && !example.Match(text): // packed files are not looked into
			wrong = append(wrong, fmt.Sprintf("%s: %s does not name %s", a.what, f, strings.Join(a.examples, ", ")))
		}
	}
	for _, s := range files {
		if !s.production() || !isHome(s.dir()) || slices.Contains(a.files, s.path) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(s.path)))
		if err == nil && example.Match(text) {
			wrong = append(wrong, fmt.Sprintf("%s: %s names %s and is not in the row", a.what, s.path, strings.Join(a.examples, ", ")))
		}
	}
	return wrong
}

// isHome reports whether additions may need a package: programs around the framework only use what is there.
func isHome(dir string) bool {
	return !slices.Contains([]string{"bench", "scripts", "examples", "accept", "interop", "docs"}, strings.Split(dir, "/")[0])
}
