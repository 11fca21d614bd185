package ops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/tensor"
)

// signature is the parsed text of a definition.
type signature struct {
	in, out []Arg
	attrs   []Attr
}

func nameOf(text string) string {
	name, _, ok := strings.Cut(text, "(")
	if !ok || name == "" {
		panic("ops: expected a name and inputs: " + text)
	}
	return name
}

func (d *Def) parse() *signature {
	_, rest, _ := strings.Cut(d.text, "(")
	in, out, ok := strings.Cut(rest, ")")
	if out = strings.TrimSpace(out); !ok || out != "" && !strings.HasPrefix(out, "->") {
		panic(fmt.Sprintf("ops: %s: expected (inputs) -> outputs", d.text))
	}
	s := &signature{in: d.args(in), out: d.args(strings.TrimPrefix(out, "->"))}
	for _, a := range d.attrs {
		s.attrs = append(s.attrs, d.attr(a))
	}
	return s
}

func (d *Def) args(text string) []Arg {
	var all []Arg
	for _, s := range strings.Split(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, d.arg(s))
		}
	}
	return all
}

var roles = map[string]Role{"": RoleValue, "const": RoleConstant, "size": RoleSize, "unread": RoleUnread}

// arg parses "name: type role".
func (d *Def) arg(text string) Arg {
	name, typ, ok := strings.Cut(text, ": ")
	typ, role, _ := strings.Cut(typ, " ")
	r, known := roles[role]
	if !ok || !known {
		panic(fmt.Sprintf("ops: %s: argument %q: expected a name, a type and a role", d.Name, text))
	}
	a := Arg{Name: name, Role: r}
	if count, of, ok := strings.Cut(typ, "*"); ok {
		a.Count, typ = count, of
	}
	if of, ok := strings.CutPrefix(typ, "&"); ok {
		a.Ref, typ = true, of
	}
	if of, ok := strings.CutPrefix(typ, "["); ok {
		a.List, typ = true, strings.TrimSuffix(of, "]")
	}
	if t, err := tensor.ParseDType(typ); err == nil {
		a.Type = t
	} else {
		a.TypeAttr = typ
	}
	return a
}

// attr parses "name: kind = default".
func (d *Def) attr(text string) Attr {
	name, kind, ok := strings.Cut(text, ": ")
	if !ok {
		panic(fmt.Sprintf("ops: %s: attribute %q: expected a name and a kind", d.Name, text))
	}
	a := Attr{Name: name}
	a.Kind, a.Default, _ = strings.Cut(kind, " = ")
	if types, ok := typeSets[a.Kind]; ok {
		a.Kind, a.Types = "type", types
	}
	set, ok := strings.CutPrefix(a.Kind, "{")
	if !ok {
		return a
	}
	a.Kind = "string"
	for _, s := range strings.Split(strings.TrimSuffix(set, "}"), ", ") {
		if quoted, ok := strings.CutPrefix(s, "'"); ok {
			a.Values = append(a.Values, strings.TrimSuffix(quoted, "'"))
			continue
		}
		t, err := tensor.ParseDType(s)
		if err != nil {
			panic(fmt.Sprintf("ops: %s: attribute %s: %v", d.Name, name, err))
		}
		a.Kind, a.Types = "type", append(a.Types, t)
	}
	return a
}

// typeSets are the sets of element types that many ops take, by the names that definitions give them.
var typeSets = map[string][]tensor.DType{
	"floats":  floatTypes,
	"inexact": slices.Concat(floatTypes, complexTypes),
	"indices": {tensor.Int32, tensor.Int64},
	"signed":  slices.Concat([]tensor.DType{tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64}, complexTypes, floatTypes),
	"reals":   append(intTypes, floatTypes...),
	"numbers": slices.Concat(intTypes, floatTypes, complexTypes),
}

var (
	floatTypes   = []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64}
	complexTypes = []tensor.DType{tensor.Complex64, tensor.Complex128}
	intTypes     = []tensor.DType{tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64}
)
