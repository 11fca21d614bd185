package inline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// Lowered is a graph without function calls, and without branches and loops that are single nodes.
type Lowered struct {
	Graph *graph_go_proto.GraphDef
	// Outputs maps the outputs of replaced nodes, as "node:0", to their new names.
	Outputs map[string]string
}

// Lower replaces function calls by the nodes of the functions. If, Case and While nodes with the attribute
// _lower_using_switch_merge become TensorFlow 1's control flow, so that each node of a function can have its own device. A
// NoOp with the name of a replaced node comes after its effects. gd is not changed; a graph without such nodes is returned
// as it is. The rules are TensorFlow's (lower_functional_ops.cc, lower_if_op.cc, lower_case_op.cc, lower_while_op.cc and
// inline_function_utils.cc).
func Lower(gd *graph_go_proto.GraphDef) (*Lowered, error) {
	f := newFlattener(gd)
	if !slices.ContainsFunc(gd.GetNode(), f.replaced) {
		return &Lowered{Graph: gd}, nil
	}
	f.lowered, f.taken = map[string]string{}, map[string]bool{}
	f.out = &graph_go_proto.GraphDef{Versions: gd.GetVersions(), Library: gd.GetLibrary()}
	for _, n := range gd.GetNode() {
		if f.taken[n.GetName()] { // its nodes would look for free names for long
			return nil, fmt.Errorf("the graph has two nodes %q", n.GetName())
		}
		f.taken[n.GetName()] = true
	}
	for _, n := range gd.GetNode() {
		if err := f.add(n, nil); err != nil {
			return nil, err
		}
	}
	if err := f.redirect(); err != nil {
		return nil, err
	}
	return &Lowered{Graph: f.out, Outputs: f.lowered}, nil
}

// replaced reports whether other nodes take the place of n.
func (f *flattener) replaced(n *nodeDef) bool {
	switch n.GetOp() {
	case "PartitionedCall", "StatefulPartitionedCall", "BatchFunction":
		return true
	}
	return f.functions[n.GetOp()] != nil || lowers(n)
}

// lowers reports whether n is a branch or loop that is to be lowered.
func lowers(n *nodeDef) bool {
	switch n.GetOp() {
	case "If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile":
		return n.GetAttr()["_lower_using_switch_merge"].GetB()
	}
	return false
}

// redirect makes all nodes read the outputs that replace outputs of calls, branches and loops.
func (f *flattener) redirect() error {
	for name := range f.lowered {
		if err := f.settle(name); err != nil {
			return err
		}
	}
	for i, n := range f.out.Node {
		var own *nodeDef
		for k, in := range n.GetInput() {
			to, ok := f.lowered[output(in)]
			if !ok {
				continue
			}
			if own == nil {
				own = clone(n) // the client's nodes are not changed
				f.out.Node[i] = own
			}
			own.Input[k] = to
		}
	}
	return nil
}

// settle follows an output to the node that computes it, and notes the result for all outputs on the way.
func (f *flattener) settle(name string) error {
	way, to := []string{name}, f.lowered[name]
	for next, ok := f.lowered[output(to)]; ok; next, ok = f.lowered[output(to)] {
		if len(way) > len(f.lowered) {
			return fmt.Errorf("Graph is invalid, contains a cycle: %s is its own argument", short(name)) //nolint:staticcheck // clients know this text
		}
		way, to = append(way, output(to)), next
	}
	for _, at := range way {
		f.lowered[at] = to
	}
	return nil
}

// output returns an input that names a value in the form "node:0".
func output(in string) string {
	if !strings.HasPrefix(in, "^") && !strings.Contains(in, ":") {
		return in + ":0"
	}
	return in
}

// lowerResults replaces the call's outputs by the results of the body. The call becomes a NoOp after them.
func (b *bodyScope) lowerResults(f *flattener) error {
	end := &nodeDef{Name: b.call.GetName(), Op: "NoOp", Device: b.call.GetDevice()}
	results, types, err := b.returned()
	if err != nil {
		return err
	}
	after := map[string]bool{}
	for i, in := range results {
		if b.gate != "" && !strings.HasPrefix(in, b.prefix) && types[i] != types_go_proto.DataType_DT_RESOURCE { // an argument, which does not wait by itself
			passed := &nodeDef{Name: f.unused(b.prefix + "_pass"), Op: "Identity", Device: b.call.GetDevice(), Input: []string{in, b.gate}, Attr: attrs("T", types[i])}
			f.out.Node = append(f.out.Node, passed)
			in = passed.Name
		}
		f.lowered[numbered(b.call.GetName(), i)] = output(in)
		if strings.HasPrefix(in, b.prefix) {
			after["^"+nodeName(in)] = true
		}
	}
	for _, r := range b.fn.GetControlRet() {
		after["^"+b.prefix+r] = true
	}
	if b.gate != "" {
		after[b.gate] = true
	}
	end.Input = slices.Sorted(maps.Keys(after))
	f.out.Node = append(f.out.Node, end)
	return nil
}

// place sets the device of a node of a body, as the call's graph has it, and the names of its colocations.
func (b *bodyScope) place(c *nodeDef) {
	c.Device = mergeDevice(c.GetDevice(), b.call.GetDevice())
	var classes []string
	list := c.GetAttr()["_class"].GetList().GetS()
	for _, class := range list {
		name, ok := strings.CutPrefix(string(class), "loc:@")
		if ok && b.nodes[name] != nil {
			classes = append(classes, "loc:@"+b.prefix+name)
		}
	}
	if len(list) > 0 {
		delete(c.Attr, "_class")
	}
	if len(classes) > 0 {
		s := &attr_value_go_proto.AttrValue_ListValue{}
		for _, class := range classes {
			s.S = append(s.S, []byte(class))
		}
		c.Attr["_class"] = &attrValue{Value: &attr_value_go_proto.AttrValue_List{List: s}}
	}
}

// mergeDevice returns device name own, with missing parts taken from outer.
func mergeDevice(own, outer string) string {
	if own == "" || outer == "" {
		return own + outer
	}
	stated := map[string]bool{}
	for part := range strings.SplitSeq(own, "/") {
		stated[devicePart(part)] = true
	}
	for part := range strings.SplitSeq(outer, "/") {
		if part != "" && !stated[devicePart(part)] {
			own += "/" + part
		}
	}
	return own
}

// devicePart returns which part of a device name it is; "cpu:0" and "gpu:0" are old forms of "device:CPU:0".
func devicePart(part string) string {
	key, _, _ := strings.Cut(strings.ToLower(part), ":")
	if key == "cpu" || key == "gpu" {
		return "device"
	}
	return key
}
