package config

import (
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/runconfig"
)

// unread are fields that nothing here reads: of the first two a value other than the default is an error; the last is
// for the user's input_fns, which have it in inputs.Context.Spec.
var unread = []keyField{
	{"github.com/goestimator/goestimator/runconfig", "Spec", "Protocol"},
	{"github.com/goestimator/goestimator/runconfig", "SessionConfig", "DeviceFilters"},
	{"github.com/goestimator/goestimator/inputs", "Spec", "Params"},
}

// TestEveryKeyIsRead: the field of every key is read by a function that the command line reaches and that does not belong
// to the schema: one that checks, completes or writes a config reads nothing.
func TestEveryKeyIsRead(t *testing.T) {
	fields := map[keyField]string{}
	keyFields(fields, "", reflect.TypeFor[Config]())
	session := reflect.TypeFor[runconfig.SessionConfig]()
	for i := range session.NumField() {
		fields[keyField{session.PkgPath(), session.Name(), session.Field(i).Name}] = "session." + session.Field(i).Name
	}
	read := newTrace(t, fields).reads()
	for f, key := range fields {
		if !read[f] && !slices.Contains(unread, f) {
			t.Errorf("%s: nobody reads the field %s of %s.%s", key, f.name, f.pkg, f.typ)
		}
	}
}

// keyField is a field of a struct type.
type keyField struct{ pkg, typ, name string }

// keyFields adds the fields of all leaves below a type, each with its key.
func keyFields(out map[keyField]string, path string, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "" || key == "-" {
			continue
		}
		key = strings.TrimPrefix(path+"."+key, ".")
		inner := f.Type
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner == t {
			out[keyField{t.PkgPath(), t.Name(), f.Name}] = key // a list of the same
		} else if inner.Kind() == reflect.Struct {
			keyFields(out, key, inner)
		} else {
			out[keyField{t.PkgPath(), t.Name(), f.Name}] = key
		}
	}
}

// trace finds what functions of the module read and call.
type trace struct {
	t      *testing.T
	fset   *token.FileSet
	fields map[keyField]string
	schema map[string]bool // packages that own keys
	export map[string]string
	read   map[string][]keyField // by the function that reads
	calls  map[string][]string   // functions of schema packages, by the function that names them
	roots  []string              // functions of other packages
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string
}

func newTrace(t *testing.T, fields map[keyField]string) *trace {
	x := &trace{t: t, fset: token.NewFileSet(), fields: fields, schema: map[string]bool{}, export: map[string]string{}, read: map[string][]keyField{}, calls: map[string][]string{}}
	for f := range fields {
		x.schema[f.pkg] = true
	}
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Imports", "./cmd/goestimator")
	cmd.Dir = testkit.Root()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		x.export[p.ImportPath] = p.Export
		all = append(all, p)
	}
	imp := importer.ForCompiler(x.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(x.export[path]) })
	for _, p := range all {
		if x.schema[p.ImportPath] || slices.ContainsFunc(p.Imports, func(path string) bool { return x.schema[path] }) {
			x.add(p, imp)
		}
	}
	return x
}

// add type-checks a package and notes what its functions read and call.
func (x *trace) add(p listed, imp types.Importer) {
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(x.fset, filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			x.t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{Importer: imp}).Check(p.ImportPath, x.fset, files, info); err != nil {
		x.t.Fatal(err)
	}
	for _, f := range files {
		for _, d := range f.Decls {
			name := p.ImportPath + " variables"
			if fn, ok := d.(*ast.FuncDecl); ok {
				name = info.Defs[fn.Name].(*types.Func).FullName()
				if x.schema[p.ImportPath] && ofSchema(fn.Name.Name) {
					continue
				}
			}
			if !x.schema[p.ImportPath] {
				x.roots = append(x.roots, name)
			}
			x.scan(name, d, info)
		}
	}
}

// ofSchema reports whether a function of that name belongs to the schema.
func ofSchema(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "validate") || strings.HasPrefix(name, "complete") || strings.HasPrefix(name, "default") || name == "marshalyaml"
}

func (x *trace) scan(name string, d ast.Decl, info *types.Info) {
	written := map[ast.Expr]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				written[e] = n.Tok == token.ASSIGN
			}
		case *ast.SelectorExpr:
			if s := info.Selections[n]; s != nil && s.Kind() == types.FieldVal && !written[n] {
				x.read[name] = append(x.read[name], selected(s))
			}
		case *ast.Ident:
			if fn, ok := info.Uses[n].(*types.Func); ok && fn.Pkg() != nil && x.schema[fn.Pkg().Path()] {
				x.calls[name] = append(x.calls[name], fn.Origin().FullName())
			}
		}
		return true
	})
}

// selected is the field that a selection ends at, which may be one of an embedded struct.
func selected(s *types.Selection) keyField {
	t := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		t = structOf(t).Field(i).Type()
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	f := keyField{name: s.Obj().Name()}
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil {
		f.pkg, f.typ = n.Obj().Pkg().Path(), n.Obj().Name()
	}
	return f
}

func structOf(t types.Type) *types.Struct {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	return t.Underlying().(*types.Struct)
}

// reads are the fields that functions read which the roots reach.
func (x *trace) reads() map[keyField]bool {
	out, seen := map[keyField]bool{}, map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, f := range x.read[name] {
			out[f] = true
		}
		for _, callee := range x.calls[name] {
			visit(callee)
		}
	}
	for _, name := range x.roots {
		visit(name)
	}
	return out
}
