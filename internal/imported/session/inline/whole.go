package inline

import (
	"fmt"
	"slices"

	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
)

// Function returns a function of a library as a flat graph. Its arguments are _Arg nodes. Nodes and the frames of loops keep their
// names. Nodes that neither results nor effects need are left out, unless whole is set: parts of divided functions send to each
// other without being needed by a result.
func Function(library *function_go_proto.FunctionDefLibrary, name string, whole bool) (*Callee, error) {
	f := newFlattener(&graph_go_proto.GraphDef{Library: library})
	all := library.GetFunction()
	at := slices.IndexFunc(all, func(fn *function) bool { return fn.GetSignature().GetName() == name })
	if at < 0 {
		return nil, fmt.Errorf("the library has no function %q", name)
	}
	fn := all[at] // not another implementation: only calls are redirected
	body := fn.GetNodeDef()
	if !whole {
		var err error
		if body, err = f.body(fn); err != nil {
			return nil, fmt.Errorf("function %q: %w", name, err)
		}
	}
	flat, err := f.whole(fn, body)
	if err != nil {
		return nil, fmt.Errorf("function %q: %w", name, err)
	}
	flat.Graph.Library = library
	return flat, nil
}

// whole flattens the body of a function.
func (f *flattener) whole(fn *function, body []*nodeDef) (*Callee, error) {
	f.taken, f.out = map[string]bool{}, &graph_go_proto.GraphDef{}
	b := &bodyScope{fn: fn, args: map[string]string{}, nodes: map[string]*nodeDef{}, functions: f.functions}
	out := &Callee{Name: fn.GetSignature().GetName(), Graph: f.out}
	for i, a := range fn.GetSignature().GetInputArg() {
		if a.GetTypeAttr() != "" || a.GetNumberAttr() != "" || a.GetTypeListAttr() != "" {
			return nil, fmt.Errorf("argument %q has no type of its own: expected single tensors", a.GetName())
		}
		b.args[a.GetName()] = a.GetName()
		f.taken[a.GetName()] = true
		out.Args = append(out.Args, a.GetName())
		f.out.Node = append(f.out.Node, &nodeDef{Name: a.GetName(), Op: "_Arg", Attr: map[string]*attrValue{
			"T": {Value: &attr_value_go_proto.AttrValue_Type{Type: a.GetType()}}, "index": {Value: &attr_value_go_proto.AttrValue_I{I: int64(i)}},
		}})
	}
	for _, m := range body {
		b.nodes[m.GetName()], f.taken[m.GetName()] = m, true
	}
	for _, m := range body {
		c, err := b.rename(m)
		if err != nil {
			return nil, err
		}
		if err := f.add(c, []string{out.Name}); err != nil {
			return nil, err
		}
	}
	out.Result = "_results"
	for f.taken[out.Result] {
		out.Result += "_"
	}
	b.call = &nodeDef{Name: out.Result}
	end, err := b.results()
	if err != nil {
		return nil, err
	}
	f.out.Node = append(f.out.Node, end)
	return out, lowerReferences(f.out, f.taken)
}
