package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// size is the number of lines of something.
type size struct {
	what  string
	lines int
}

// sizes are in ascending order.
type sizes []size

func (s sizes) sort() {
	slices.SortFunc(s, func(a, b size) int { return a.lines - b.lines })
}

// at returns the quantile q of the line counts.
func (s sizes) at(q float64) int {
	if len(s) == 0 {
		return 0
	}
	return s[int(q*float64(len(s)-1))].lines
}

// String returns median, 90th percentile and maximum.
func (s sizes) String() string { return fmt.Sprintf("%d / %d / %d", s.at(0.5), s.at(0.9), s.at(1)) }

// functions returns the sizes of the functions in a file, from func to the closing brace.
func functions(fset *token.FileSet, s *source) (out sizes) {
	for _, d := range s.syntax.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		from, to := fset.Position(f.Pos()).Line, fset.Position(f.End()).Line
		out = append(out, size{fmt.Sprintf("%s:%d %s", s.path, from, f.Name.Name), to - from + 1})
	}
	return out
}

// above returns the index of the first size that exceeds limit.
func above(s sizes, limit int) int {
	i, _ := slices.BinarySearchFunc(s, limit+1, func(a size, l int) int { return a.lines - l })
	return i
}
