package inline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	"google.golang.org/protobuf/proto"
)

type (
	nodeDef   = node_def_go_proto.NodeDef
	attrValue = attr_value_go_proto.AttrValue
	function  = function_go_proto.FunctionDef
)

// Limits on the resulting graph.
const (
	maxNodes = 1 << 18
	maxDepth = 64
	maxBytes = 1 << 28 // of bytes that functions add, in addition to
	maxTimes = 4       // times the graph's size
	// valueCost is roughly the size of an argument or result, besides its name.
	valueCost = 256
)

// Flatten returns the part of gd that the root nodes need, without function calls and reference
// variables. gd is not changed. Functions that are branches or bodies of If and While stay in the library.
func Flatten(gd *graph_go_proto.GraphDef, roots []string) (*graph_go_proto.GraphDef, error) {
	out, err := newFlattener(gd).flatten(gd.GetNode(), roots)
	if err != nil {
		return nil, err
	}
	out.Library = gd.GetLibrary()
	return out, nil
}

// newFlattener is for graphs that call gd's functions; all these graphs together may add the bytes that one may.
func newFlattener(gd *graph_go_proto.GraphDef) *flattener {
	f := &flattener{functions: map[string]*function{}, bodies: map[*function][]*nodeDef{}, room: maxBytes + maxTimes*proto.Size(gd), versions: gd.GetVersions()}
	for _, fn := range gd.GetLibrary().GetFunction() {
		f.functions[fn.GetSignature().GetName()] = fn
	}
	preferCPU(f.functions)
	return f
}

// flatten is Flatten for a graph without a library.
func (f *flattener) flatten(all []*nodeDef, roots []string) (*graph_go_proto.GraphDef, error) {
	f.taken, f.out = map[string]bool{}, &graph_go_proto.GraphDef{Versions: f.versions}
	nodes, err := reachable(all, roots, nil)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		f.taken[n.GetName()] = true
	}
	for _, n := range nodes {
		if err := f.add(n, nil); err != nil {
			return nil, err
		}
	}
	if err := lowerReferences(f.out, f.taken); err != nil {
		return nil, err
	}
	return f.out, nil
}

type flattener struct {
	functions map[string]*function
	bodies    map[*function][]*nodeDef // nodes that results and effects need
	room      int                      // bytes that calls may still add
	versions  *versions_go_proto.VersionDef

	taken   map[string]bool   // names in the resulting graph
	lowered map[string]string // see Lowered.Outputs; nil if graphs are not lowered
	out     *graph_go_proto.GraphDef
}

// nodeName returns the node of an input such as "a", "a:1", "^a" or, in functions, "a:out:1".
func nodeName(input string) string {
	input = strings.TrimPrefix(input, "^")
	name, _, _ := strings.Cut(input, ":")
	return name
}

// reachable returns the nodes that the roots need, in their order; names in args are not nodes.
func reachable(all []*nodeDef, roots []string, args map[string]bool) ([]*nodeDef, error) {
	byName := make(map[string]*nodeDef, len(all))
	for _, n := range all {
		if byName[n.GetName()] != nil {
			return nil, fmt.Errorf("there are two nodes %q", n.GetName())
		}
		byName[n.GetName()] = n
	}
	seen := map[string]bool{}
	stack := slices.Clone(roots)
	for len(stack) > 0 {
		name := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[name] || args[name] {
			continue
		}
		n := byName[name]
		if n == nil {
			return nil, fmt.Errorf("the graph has no node %q", name)
		}
		seen[name] = true
		for _, in := range n.GetInput() {
			stack = append(stack, nodeName(in))
		}
	}
	var out []*nodeDef
	for _, n := range all {
		if seen[n.GetName()] {
			out = append(out, n)
		}
	}
	return out, nil
}

// add appends a node or, for a call, the called function. The inputs must name nodes of the flat graph.
func (f *flattener) add(n *nodeDef, calls []string) error {
	if len(f.out.Node) >= maxNodes {
		return fmt.Errorf("node %q: the graph has more than %d nodes once its functions are inlined", n.GetName(), maxNodes)
	}
	if f.lowered != nil && lowers(n) {
		return f.lower(n, calls)
	}
	fn, attrs, err := f.called(n)
	switch {
	case err != nil:
		return err
	case fn == nil:
		f.out.Node = append(f.out.Node, fill(n))
		return nil
	}
	name := fn.GetSignature().GetName()
	if slices.Contains(calls, name) || len(calls) >= maxDepth {
		return fmt.Errorf("node %q: function %q calls itself or lies deeper than %d calls: such functions cannot be inlined", n.GetName(), name, maxDepth)
	}
	if err := f.inline(n, fn, attrs, append(slices.Clone(calls), name)); err != nil {
		return fmt.Errorf("function %q: %w", name, err)
	}
	return nil
}

// called returns the function that a node calls and the attributes of the call, or nil for other nodes.
func (f *flattener) called(n *nodeDef) (*function, map[string]*attrValue, error) {
	switch n.GetOp() {
	case "PartitionedCall", "StatefulPartitionedCall", "BatchFunction": // BatchFunction would compute several requests at a time
		call := n.GetAttr()["f"].GetFunc()
		fn := f.functions[call.GetName()]
		if fn == nil {
			return nil, nil, fmt.Errorf("node %q calls function %q: the library has no such function", n.GetName(), call.GetName())
		}
		return fn, call.GetAttr(), nil
	}
	return f.functions[n.GetOp()], n.GetAttr(), nil
}

// inline appends the body of fn in place of call n.
func (f *flattener) inline(n *nodeDef, fn *function, attrs map[string]*attrValue, calls []string) error {
	body, err := f.body(fn)
	if err != nil {
		return err
	}
	if err := f.spend(n, fn, body); err != nil {
		return err
	}
	b := &bodyScope{call: n, fn: fn, attrs: attrs, prefix: f.prefix(n.GetName(), body), args: map[string]string{}, nodes: map[string]*nodeDef{}, functions: f.functions}
	if err := b.bindArguments(); err != nil {
		return err
	}
	for _, m := range body {
		b.nodes[m.GetName()] = m
	}
	if len(b.controls) > 0 {
		gate := &nodeDef{Name: b.prefix + "_begin", Op: "NoOp", Input: b.controls}
		b.gate = "^" + gate.Name
		f.out.Node = append(f.out.Node, gate)
	}
	for _, m := range body {
		c, err := b.rename(m)
		if err != nil {
			return err
		}
		if f.lowered != nil {
			b.place(c)
		}
		if err := f.add(c, calls); err != nil {
			return err
		}
	}
	if f.lowered != nil {
		return b.lowerResults(f)
	}
	end, err := b.results()
	if err != nil {
		return err
	}
	f.out.Node = append(f.out.Node, end)
	return nil
}

// spend subtracts the size of a body from the remaining room. Constants and names, which get the call's name
// as prefix, can be many times as large as the functions. So can the lists of arguments and results.
func (f *flattener) spend(call *nodeDef, fn *function, body []*nodeDef) error {
	f.room -= (len(fn.GetSignature().GetInputArg()) + len(fn.GetSignature().GetOutputArg())) * (valueCost + len(call.GetName()))
	for _, m := range body {
		f.room -= proto.Size(m) + (1+len(m.GetInput()))*len(call.GetName())
	}
	if f.room < 0 {
		return fmt.Errorf("node %q: the graph is much larger than its file once its functions are inlined", short(call.GetName()))
	}
	return nil
}

func short(name string) string {
	if len(name) > 200 {
		return name[:200] + "..."
	}
	return name
}

// body returns the nodes of fn that its results and effects need.
func (f *flattener) body(fn *function) ([]*nodeDef, error) {
	if body, ok := f.bodies[fn]; ok {
		return body, nil
	}
	body, err := reachable(fn.GetNodeDef(), bodyRoots(fn), argNames(fn))
	f.bodies[fn] = body
	return body, err
}

// prefix returns an unused prefix for the names of a body, and reserves these names.
func (f *flattener) prefix(call string, body []*nodeDef) string {
	for i := 0; ; i++ {
		p := call + "/"
		if i > 0 {
			p = fmt.Sprintf("%s_%d/", call, i)
		}
		free := !f.taken[p+"_begin"]
		for _, m := range body {
			free = free && !f.taken[p+m.GetName()]
		}
		if !free {
			continue
		}
		f.taken[p+"_begin"] = true
		for _, m := range body {
			f.taken[p+m.GetName()] = true
		}
		return p
	}
}

// argNames returns the names of a function's arguments.
func argNames(fn *function) map[string]bool {
	args := map[string]bool{}
	for _, a := range fn.GetSignature().GetInputArg() {
		args[a.GetName()] = true
	}
	return args
}

// bodyRoots returns the nodes or arguments that a body's results and effects come from.
func bodyRoots(fn *function) []string {
	var names []string
	for _, r := range fn.GetRet() {
		names = append(names, nodeName(r))
	}
	for _, r := range fn.GetControlRet() {
		names = append(names, r)
	}
	slices.Sort(names)
	return names
}

func typeList(types []types_go_proto.DataType) *attrValue {
	return &attrValue{Value: &attr_value_go_proto.AttrValue_List{List: &attr_value_go_proto.AttrValue_ListValue{Type: types}}}
}

// clone returns a copy of a node. It shares the values of attributes, which may be large.
func clone(n *nodeDef) *nodeDef {
	return &nodeDef{Name: n.GetName(), Op: n.GetOp(), Device: n.GetDevice(), Input: slices.Clone(n.GetInput()), Attr: maps.Clone(n.GetAttr())}
}
