package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// comments holds the doc comments of struct types ("Train"), as they stand, and of their
// fields ("Train.MaxSteps"), each on one line.
type comments map[string]string

// module is the path that folders of packages are below.
const module = "github.com/goestimator/goestimator/"

// sources reads the doc comments of packages, each once.
type sources struct {
	root string
	read map[string]comments // by the path of the package
}

// of returns the comments of the package of a type.
func (s *sources) of(t reflect.Type) (comments, error) {
	path := t.PkgPath()
	if s.read[path] == nil {
		docs, err := readComments(filepath.Join(s.root, strings.TrimPrefix(path, module)))
		if err != nil {
			return nil, err
		}
		s.read[path] = docs
	}
	return s.read[path], nil
}

func readComments(folder string) (comments, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no *.go in %s: expected the folder of a package (%w)", folder, os.ErrNotExist)
	}
	docs := comments{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				docs.add(g)
			}
		}
	}
	return docs, nil
}

func (c comments) add(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		s, ok := t.Type.(*ast.StructType)
		if !ok {
			continue
		}
		c[t.Name.Name] = strings.TrimSpace(g.Doc.Text())
		for _, f := range s.Fields.List {
			for _, name := range f.Names {
				c[t.Name.Name+"."+name.Name] = oneLine(f.Doc.Text())
			}
		}
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
