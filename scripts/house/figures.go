package main

import (
	"fmt"
	"go/doc"
	"go/token"
	"io"
	"path"
	"slices"
	"strings"
)

// figures are the measurements of a module.
type figures struct {
	lines, testLines       int // of production code and of tests
	packages               int
	public                 []string // packages
	exported               int      // identifiers of public packages
	internal               []string // signatures of public packages that name internal types, and those types
	internalTypes          map[string]bool
	functions, files       sizes // of production code
	undocumented, examples []string
	ops                    sizes // files that name an op
}

// pkg is one package.
type pkg struct {
	dir        string
	name       string
	documented bool
	example    bool
}

// measure measures the module at root, for its own ops or for the ops of another module.
func measure(root string, ops []string) (*figures, error) {
	fset := token.NewFileSet()
	files, err := sources(root, fset)
	if err != nil {
		return nil, err
	}
	h := &figures{internalTypes: map[string]bool{}}
	packages := map[string]*pkg{}
	for _, s := range files {
		switch {
		case s.test:
			h.testLines += s.lines
		case s.production():
			h.lines += s.lines
			h.files = append(h.files, size{s.path, s.lines})
			h.functions = append(h.functions, functions(fset, s)...)
		}
		enter(packages, s)
	}
	h.files.sort()
	h.functions.sort()
	h.ops = opFiles(files, ops)
	h.count(packages)
	return h, h.surface(root)
}

// enter adds a file to its package.
func enter(packages map[string]*pkg, s *source) {
	r := packages[s.dir()]
	if r == nil {
		r = &pkg{dir: s.dir()}
		packages[s.dir()] = r
	}
	if s.test {
		r.example = r.example || len(doc.Examples(s.syntax)) > 0
		return
	}
	r.name = s.syntax.Name.Name
	r.documented = r.documented || s.syntax.Doc != nil
}

// count counts packages and records those without doc or Example. Programs need no Example.
func (h *figures) count(packages map[string]*pkg) {
	for dir, r := range packages {
		if r.name == "" { // only tests
			continue
		}
		h.packages++
		if !r.documented {
			h.undocumented = append(h.undocumented, dir)
		}
		if r.name == "main" {
			continue
		}
		if !r.example && !testsOnly(dir) {
			h.examples = append(h.examples, dir)
		}
		if isPublic(dir) {
			h.public = append(h.public, dir)
		}
	}
	slices.Sort(h.undocumented)
	slices.Sort(h.examples)
	slices.Sort(h.public)
}

// closed are the folders with packages that are not meant for users.
var closed = []string{"cmd", "bench", "scripts", "examples", "accept", "interop", "docs"}

// isPublic reports whether the package is meant for users.
func isPublic(dir string) bool {
	parts := strings.Split(dir, "/")
	return !slices.Contains(closed, parts[0]) && !slices.Contains(parts, "internal")
}

// testsOnly reports whether only tests use a package. Such packages need no Example.
func testsOnly(dir string) bool {
	return strings.HasSuffix(path.Base(dir), "test") || strings.HasPrefix(dir, "internal/testkit") ||
		slices.Contains([]string{"accept", "interop", "examples"}, strings.Split(dir, "/")[0])
}

// list prints one of the lists that the figures are counted from.
func (h *figures) list(out io.Writer, which string) error {
	var lines []string
	switch which {
	case "internal":
		lines = h.internal
	case "undocumented":
		lines = h.undocumented
	case "unexampled":
		lines = h.examples
	case "large":
		for _, s := range slices.Concat(h.functions[above(h.functions, 80):], h.files[above(h.files, 400):]) {
			lines = append(lines, fmt.Sprintf("%d %s", s.lines, s.what))
		}
	case "ops":
		for _, s := range h.ops {
			lines = append(lines, fmt.Sprintf("%d %s", s.lines, s.what))
		}
	default:
		return fmt.Errorf("-list %s: expected internal, undocumented, unexampled, large or ops", which)
	}
	for _, l := range lines {
		fmt.Fprintln(out, l)
	}
	return nil
}
