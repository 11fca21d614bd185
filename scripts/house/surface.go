package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Export string
	Module             *struct {
		Path string
		Main bool
	}
}

// surface counts the exported identifiers of public packages, and the signatures among them that name internal types. It
// reads the compiler's export data, which includes inferred types.
func (h *figures) surface(root string) error {
	paths := make([]string, 0, len(h.public))
	for _, dir := range h.public {
		paths = append(paths, "./"+dir)
	}
	if len(paths) == 0 {
		return nil
	}
	packages, err := goList(root, paths)
	if err != nil {
		return err
	}
	exports := map[string]string{}
	module := ""
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
		if p.Module != nil && p.Module.Main {
			module = p.Module.Path
		}
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, dir := range h.public {
		pkg, err := from.Import(module + "/" + dir)
		if err != nil {
			return err
		}
		v := &visitor{figures: h, module: module, dir: dir}
		v.scope(pkg.Scope())
	}
	slices.Sort(h.internal)
	return nil
}

func goList(root string, paths []string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-trimpath", "-json=ImportPath,Export,Module"}, paths...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// visitor visits the exported identifiers of one package.
type visitor struct {
	*figures
	module, dir string
}

func (v *visitor) scope(s *types.Scope) {
	for _, name := range s.Names() {
		o := s.Lookup(name)
		if !o.Exported() {
			continue
		}
		v.exported++
		if t, ok := o.(*types.TypeName); ok {
			v.declared(t)
			continue
		}
		v.signature(name, o.Type())
	}
}

// declared checks a type: its underlying type, its fields and its methods.
func (v *visitor) declared(t *types.TypeName) {
	if a, ok := t.Type().(*types.Alias); ok {
		v.signature(t.Name(), a.Rhs())
		return
	}
	n, ok := t.Type().(*types.Named)
	if !ok {
		return
	}
	for m := range n.Methods() {
		if m.Exported() {
			v.exported++
			v.signature(t.Name()+"."+m.Name(), m.Type())
		}
	}
	switch u := n.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if f.Exported() {
				v.signature(t.Name()+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for m := range u.ExplicitMethods() {
			if m.Exported() {
				v.signature(t.Name()+"."+m.Name(), m.Type())
			}
		}
		for e := range u.EmbeddedTypes() {
			v.signature(t.Name(), e)
		}
	default:
		v.signature(t.Name(), u)
	}
}

// signature records the internal types that a type names.
func (v *visitor) signature(name string, t types.Type) {
	found := map[string]bool{}
	v.walk(t, found)
	if len(found) == 0 {
		return
	}
	var list []string
	for f := range found {
		v.internalTypes[f] = true
		list = append(list, f)
	}
	slices.Sort(list)
	v.internal = append(v.internal, fmt.Sprintf("%s.%s: %s", v.dir, name, strings.Join(list, ", ")))
}

// walk finds the internal types of this module that t names. It does not enter the fields of a named type.
func (v *visitor) walk(t types.Type, found map[string]bool) {
	switch t := t.(type) {
	case *types.Alias:
		v.named(t.Obj(), t.TypeArgs(), found)
	case *types.Named:
		v.named(t.Obj(), t.TypeArgs(), found)
	case *types.Signature:
		for p := range t.TypeParams().TypeParams() {
			v.walk(p.Constraint(), found)
		}
		v.walk(t.Params(), found)
		v.walk(t.Results(), found)
	case *types.Tuple:
		for x := range t.Variables() {
			v.walk(x.Type(), found)
		}
	case *types.Map:
		v.walk(t.Key(), found)
		v.walk(t.Elem(), found)
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				v.walk(f.Type(), found)
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			v.walk(m.Type(), found)
		}
		for e := range t.EmbeddedTypes() {
			v.walk(e, found)
		}
	case *types.Union:
		for x := range t.Terms() {
			v.walk(x.Type(), found)
		}
	case interface{ Elem() types.Type }: // pointer, slice, array, channel
		v.walk(t.Elem(), found)
	}
}

func (v *visitor) named(o *types.TypeName, args *types.TypeList, found map[string]bool) {
	if p := o.Pkg(); p != nil && strings.HasPrefix(p.Path(), v.module+"/") && slices.Contains(strings.Split(p.Path(), "/"), "internal") {
		found[strings.TrimPrefix(p.Path(), v.module+"/")+"."+o.Name()] = true
	}
	for a := range args.Types() {
		v.walk(a, found)
	}
}
