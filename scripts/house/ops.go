package main

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
)

var opName = regexp.MustCompile(`^[A-Z][A-Za-z]*[A-Za-z0-9]*$`)

// opFiles counts the production files that name each op, as a string literal in TensorFlow's spelling. It counts the given
// ops, or else those that both the engine and eager name.
func opFiles(files []*source, names []string) (out sizes) {
	named := map[string][]string{}
	within := map[string]map[string]bool{"engine": {}, "eager": {}}
	for _, s := range files {
		if !s.production() {
			continue
		}
		dir := path.Base(s.dir())
		for name := range literals(s) {
			named[name] = append(named[name], s.path)
			if in := within[dir]; in != nil {
				in[name] = true
			}
		}
	}
	for name := range within["engine"] {
		if names == nil && within["eager"][name] {
			out = append(out, size{name, len(named[name])})
		}
	}
	for _, name := range names {
		out = append(out, size{name, len(named[name])})
	}
	slices.SortFunc(out, func(a, b size) int {
		if a.lines != b.lines {
			return a.lines - b.lines
		}
		if a.what < b.what {
			return -1
		}
		return 1
	})
	return out
}

// literals returns the string literals of a file that may be names of ops.
func literals(s *source) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil && opName.MatchString(text) {
				out[text] = true
			}
		}
		return true
	})
	return out
}
