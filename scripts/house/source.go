package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// source is a Go file of the module.
type source struct {
	path      string // relative to the module's root, with slashes
	lines     int
	test      bool
	generated bool
	syntax    *ast.File
}

func (s *source) dir() string { return path.Dir(s.path) }

// production reports whether the file is neither a test nor generated.
func (s *source) production() bool { return !s.test && !s.generated }

// sources reads the Go files of the module at root, without nested modules, testdata and hidden folders.
func sources(root string, fset *token.FileSet) ([]*source, error) {
	var out []*source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skipped(root, p)
		case filepath.Ext(p) != ".go":
			return nil
		}
		s, err := read(root, p, fset)
		if err == nil {
			out = append(out, s)
		}
		return err
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s has no Go files: expected the root of the module", root)
	}
	return out, err
}

// skipped returns fs.SkipDir for a folder that does not belong to the module.
func skipped(root, dir string) error {
	if dir == root {
		return nil
	}
	name := filepath.Base(dir)
	if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func read(root, file string, fset *token.FileSet) (*source, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(root, file)
	if err != nil {
		return nil, err
	}
	syntax, err := parser.ParseFile(fset, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{path: filepath.ToSlash(rel), lines: bytes.Count(text, []byte("\n")), test: strings.HasSuffix(file, "_test.go"),
		generated: ast.IsGenerated(syntax), syntax: syntax}, nil
}
