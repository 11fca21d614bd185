package inline

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/protobuf/proto"
)

// Callee is a function that a branch or loop calls, as a flat graph.
type Callee struct {
	Name   string
	Graph  *graph_go_proto.GraphDef
	Args   []string // nodes that stand for its arguments
	Result string   // node whose inputs are the results
}

// callsFunctions reports whether an op calls functions that are not inlined, given as attributes.
func callsFunctions(op string) bool {
	d := ops.Find(op)
	return d != nil && slices.ContainsFunc(d.Attrs(), func(a ops.Attr) bool { return a.Kind == "func" || a.Kind == "list(func)" })
}

// Callees returns the functions that the branches and loops of a flat graph call, directly or indirectly. It changes the nodes
// to use the names in the result: a function called with different attributes becomes several.
func Callees(flat *graph_go_proto.GraphDef) ([]*Callee, error) {
	c := &callees{f: newFlattener(flat), known: map[string]called{}, working: map[string]bool{}}
	if _, err := c.nodes(flat.Node, 0); err != nil {
		return nil, err
	}
	slices.SortFunc(c.all, func(a, b *Callee) int { return cmp.Compare(a.Name, b.Name) })
	return c.all, nil
}

type callees struct {
	f       *flattener
	known   map[string]called // by the function and its attributes
	working map[string]bool   // functions that are being flattened
	total   int               // number of nodes
	fresh   int               // number of made-up names
	all     []*Callee
}

// called is a flattened function.
type called struct {
	name  string
	calls int // depth of nested calls, including its own
}

// nodes renames the functions that nodes call, and returns the depth of nested calls below them.
func (c *callees) nodes(nodes []*nodeDef, depth int) (calls int, err error) {
	for i, n := range nodes {
		if !callsFunctions(n.GetOp()) {
			continue
		}
		named := clone(n) // the library's own nodes are not changed
		for key, a := range n.GetAttr() {
			fresh := &attrValue{}
			switch {
			case a.GetFunc() != nil:
				f, err := c.function(a.GetFunc(), depth)
				if err != nil {
					return 0, fmt.Errorf("node %q: %w", n.GetName(), err)
				}
				calls = max(calls, f.calls)
				fresh.Value = &attr_value_go_proto.AttrValue_Func{Func: &attr_value_go_proto.NameAttrList{Name: f.name}}
			case len(a.GetList().GetFunc()) > 0:
				list := &attr_value_go_proto.AttrValue_ListValue{}
				for _, f := range a.GetList().GetFunc() {
					f, err := c.function(f, depth)
					if err != nil {
						return 0, fmt.Errorf("node %q: %w", n.GetName(), err)
					}
					calls = max(calls, f.calls)
					list.Func = append(list.Func, &attr_value_go_proto.NameAttrList{Name: f.name})
				}
				fresh.Value = &attr_value_go_proto.AttrValue_List{List: list}
			default:
				continue
			}
			named.Attr[key] = fresh
		}
		nodes[i] = named
	}
	return calls, nil
}

// function flattens a function, once for all calls with the same attributes.
func (c *callees) function(f *attr_value_go_proto.NameAttrList, depth int) (called, error) {
	id, err := proto.MarshalOptions{Deterministic: true}.Marshal(f)
	if err != nil {
		return called{}, err
	}
	key := string(id)
	k, ok := c.known[key]
	if c.working[key] || depth+max(k.calls, 1) > maxDepth {
		return called{}, fmt.Errorf("function %q calls itself or lies deeper than %d calls", f.GetName(), maxDepth)
	}
	if ok {
		return k, nil
	}
	k.name = f.GetName()
	if len(f.GetAttr()) > 0 {
		k.name = c.unused(k.name)
	}
	c.known[key] = k
	c.working[key] = true
	below, err := c.flatten(f, k.name, depth)
	if err != nil {
		return called{}, fmt.Errorf("function %q: %w", f.GetName(), err)
	}
	delete(c.working, key)
	k.calls = 1 + below
	c.known[key] = k
	return k, nil
}

// unused returns a name that no function has.
func (c *callees) unused(name string) string {
	for {
		c.fresh++
		if fresh := fmt.Sprintf("%s#%d", name, c.fresh); c.f.functions[fresh] == nil {
			return fresh
		}
	}
}

// flatten inlines a call of the function with placeholders as arguments, and returns the depth of nested calls in it.
func (c *callees) flatten(f *attr_value_go_proto.NameAttrList, name string, depth int) (calls int, err error) {
	fn := c.f.functions[f.GetName()]
	if fn == nil {
		return 0, fmt.Errorf("the library has no such function")
	}
	call := &nodeDef{Name: "call", Op: "PartitionedCall", Attr: map[string]*attrValue{"f": {Value: &attr_value_go_proto.AttrValue_Func{Func: f}}}}
	out := &Callee{Name: name, Result: call.Name}
	var nodes []*nodeDef
	for i, a := range fn.GetSignature().GetInputArg() {
		t := a.GetType()
		if a.GetTypeAttr() != "" {
			t = f.GetAttr()[a.GetTypeAttr()].GetType()
		}
		arg := &nodeDef{Name: fmt.Sprintf("argument_%d", i), Op: "Placeholder", Attr: map[string]*attrValue{"dtype": {Value: &attr_value_go_proto.AttrValue_Type{Type: t}}}}
		out.Args = append(out.Args, arg.Name)
		call.Input = append(call.Input, arg.Name)
		nodes = append(nodes, arg)
	}
	flat, err := c.f.flatten(append(nodes, call), []string{call.Name})
	if err != nil {
		return 0, err
	}
	if c.total += len(flat.Node); c.total > maxNodes {
		return 0, fmt.Errorf("the functions of branches and loops have more than %d nodes", maxNodes)
	}
	out.Graph = flat
	c.all = append(c.all, out)
	return c.nodes(flat.Node, depth+1)
}
