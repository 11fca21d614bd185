package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one change of one file.
type mutant struct {
	Number   int
	Package  string
	Function string
	File     string
	Line     int
	Kind     string
	Old, New string
	Place    int // its index among those of its kind in the function

	from, to int // the bytes of File that New replaces
}

func (m mutant) String() string {
	return fmt.Sprintf("%3d %s:%d %s: %s: %s -> %s", m.Number, m.File, m.Line, m.Function, m.Kind, oneLine(m.Old), oneLine(m.New))
}

// key identifies a mutant, independently of the other drawn ones.
func (m mutant) key() string { return fmt.Sprint(m.Package, m.Function, m.Kind, m.Old, m.Place) }

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 100 {
		s = s[:100] + "..."
	}
	return s
}

// function is a function that mutants are drawn from.
type function struct {
	pkg  pkg
	file string // its path
	name string // with its receiver's type before it
	body *ast.BlockStmt
	set  *token.FileSet
}

// rank returns a number for a seed, a function and a purpose. It does not change when other code changes.
func (f function) rank(seed uint64, purpose string) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, seed, f.pkg.ImportPath, f.name, purpose)
	return rand.NewPCG(h.Sum64(), 0).Uint64() // FNV's high bits are not random enough for short names
}

// draws draws mutants: functions in the order of their ranks, then one of the kinds of mutants that the function
// allows, then a place. So a mutant stays in the list as long as its function is not changed.
type draws struct {
	functions []function
	seed      uint64
}

func newDraws(m *module, seed uint64) (*draws, error) {
	d := &draws{seed: seed}
	for _, p := range m.drawn {
		for _, name := range p.GoFiles {
			functions, err := functionsOf(p, filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			d.functions = append(d.functions, functions...)
		}
	}
	slices.SortStableFunc(d.functions, func(a, b function) int {
		return cmp.Compare(a.rank(seed, "order"), b.rank(seed, "order"))
	})
	return d, nil
}

// functionsOf returns the functions of a file that is not generated.
func functionsOf(p pkg, path string) ([]function, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}
	var functions []function
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
			functions = append(functions, function{pkg: p, file: path, name: receiver(f) + f.Name.Name, body: f.Body, set: set})
		}
	}
	return functions, nil
}

// receiver returns the name of a method's type and a dot, "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	var name string
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name + "."
}

// next draws a mutant of the next function that allows one.
func (d *draws) next() (mutant, error) {
	for len(d.functions) > 0 {
		f := d.functions[0]
		d.functions = d.functions[1:]
		kinds, err := mutantsOf(f)
		if err != nil {
			return mutant{}, err
		}
		if n := uint64(len(kinds)); n > 0 {
			of := kinds[f.rank(d.seed, "kind")%n]
			return of[f.rank(d.seed, "place")%uint64(len(of))], nil
		}
	}
	return mutant{}, errors.New("no more mutants: fewer exist than were asked for")
}

// mutantsOf returns the mutants of a function, one list per kind that occurs.
func mutantsOf(f function) ([][]mutant, error) {
	src, err := os.ReadFile(f.file)
	if err != nil {
		return nil, err
	}
	byKind := map[string][]mutant{}
	add := func(kind string, node ast.Node, form func(old string) string) {
		from, to := f.set.Position(node.Pos()), f.set.Position(node.End()).Offset
		old := string(src[from.Offset:to])
		byKind[kind] = append(byKind[kind], mutant{
			Package: f.pkg.ImportPath, Function: f.name, File: relative(f.file), Line: from.Line,
			Kind: kind, Old: old, New: form(old), Place: len(byKind[kind]), from: from.Offset, to: to,
		})
	}
	ast.Inspect(f.body, func(n ast.Node) bool {
		visit(n, add)
		return true
	})
	var kinds [][]mutant
	for _, kind := range []string{negated, moved, dropped, ignored} {
		if of := byKind[kind]; len(of) > 0 {
			kinds = append(kinds, of)
		}
	}
	return kinds, nil
}

// The kinds of mutants.
const (
	negated = "negated condition"
	moved   = "moved boundary"
	dropped = "dropped call"
	ignored = "dropped error"
)

// visit calls add for each mutant of a node, without those of its children.
func visit(n ast.Node, add func(kind string, node ast.Node, form func(string) string)) {
	switch n := n.(type) {
	case *ast.IfStmt:
		if isErrorCheck(n) {
			add(ignored, n.Cond, func(old string) string { return "false && (" + old + ")" })
		} else {
			add(negated, n.Cond, negation)
		}
	case *ast.ForStmt:
		if n.Cond != nil {
			add(negated, n.Cond, negation)
		}
	case *ast.BinaryExpr:
		if form := boundary(n); form != nil {
			add(moved, n, form)
		}
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && !isPanic(call) {
			add(dropped, n, func(old string) string { return "_ = func() { " + old + " }" })
		}
	case *ast.DeferStmt:
		add(dropped, n, func(old string) string { return "_ = func() { " + old + " }" })
	}
}

func negation(old string) string { return "!(" + old + ")" }

// isErrorCheck reports whether a statement leaves the function if there is an error.
func isErrorCheck(s *ast.IfStmt) bool {
	cond, ok := s.Cond.(*ast.BinaryExpr)
	if !ok || cond.Op != token.NEQ || !isName(cond.Y, "nil") || len(s.Body.List) == 0 {
		return false
	}
	name, ok := cond.X.(*ast.Ident)
	_, leaves := s.Body.List[len(s.Body.List)-1].(*ast.ReturnStmt)
	return ok && leaves && strings.HasPrefix(strings.ToLower(name.Name), "err")
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func isPanic(call *ast.CallExpr) bool { return isName(call.Fun, "panic") }

// boundary returns a change that moves the boundary of a comparison or replaces
// the 1 in a sum by 0, or nil for other expressions.
func boundary(e *ast.BinaryExpr) func(string) string {
	moves := map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
	at := int(e.OpPos - e.Pos())
	if to, ok := moves[e.Op]; ok {
		return func(old string) string { return old[:at] + to.String() + old[at+len(e.Op.String()):] }
	}
	if one, ok := e.Y.(*ast.BasicLit); ok && one.Value == "1" && (e.Op == token.ADD || e.Op == token.SUB) {
		return func(old string) string { return old[:at] + e.Op.String() + " 0" }
	}
	return nil
}

// mutated returns the changed file of a mutant.
func (m mutant) mutated() ([]byte, error) {
	src, err := os.ReadFile(m.File)
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{src[:m.from], []byte(m.New), src[m.to:]}, nil), nil
}

// relative returns a path relative to the working directory.
func relative(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil {
		return rel
	}
	return path
}
