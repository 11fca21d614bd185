package functionalize

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	"google.golang.org/protobuf/proto"
)

type (
	nodeDef   = node_def_go_proto.NodeDef
	attrValue = attr_value_go_proto.AttrValue
	dataType  = types_go_proto.DataType
)

// Limits on the work for a graph.
const (
	maxVisits = 1 << 23 // nodes visited, over all walks
	maxBytes  = 1 << 28 // of functions that are made, in addition to
	maxTimes  = 4       // times the graph's size
	nodeBytes = 512     // overhead of a node
)

var errVisits = fmt.Errorf("loops and conditions of TensorFlow 1 take more than %d steps to sort out", maxVisits)

// flowOps are the ops of control flow.
var flowOps = map[string]bool{"Switch": true, "Merge": true, "Enter": true, "Exit": true, "NextIteration": true, "LoopCond": true}

// Graph replaces the control flow of TensorFlow 1 in flat, a graph without calls, and in callees, the functions that it calls, by
// While and If. It keeps only what the root nodes need, and returns callees together with the functions that it made.
func Graph(flat *graph_go_proto.GraphDef, roots []string, callees []*inline.Callee) ([]*inline.Callee, error) {
	c := &converter{versions: flat.GetVersions(), taken: map[string]bool{}, room: maxBytes + maxTimes*proto.Size(flat)}
	for _, f := range callees {
		c.taken[f.Name] = true
		c.room += maxTimes * proto.Size(f.Graph)
	}
	if err := c.convert(flat, roots); err != nil {
		return nil, err
	}
	for _, f := range callees {
		if err := c.convert(f.Graph, append(slices.Clone(f.Args), f.Result)); err != nil {
			return nil, fmt.Errorf("function %q: %w", f.Name, err)
		}
	}
	return append(callees, c.made...), nil
}

// converter makes the functions of one model.
type converter struct {
	versions *versions_go_proto.VersionDef
	taken    map[string]bool // names of functions
	made     []*inline.Callee
	visits   int
	room     int // bytes that may still be added
}

// scope is a graph during conversion: nodes are replaced, never changed.
type scope struct {
	names   []string // in the graph's order
	nodes   map[string]*nodeDef
	several map[string]bool // nodes with a used output other than the first
}

func newScope() *scope { return &scope{nodes: map[string]*nodeDef{}, several: map[string]bool{}} }

func (c *converter) convert(gd *graph_go_proto.GraphDef, roots []string) error {
	if !slices.ContainsFunc(gd.Node, func(n *nodeDef) bool { return flowOps[strings.TrimPrefix(n.GetOp(), "Ref")] || isArray(n.GetOp()) }) {
		return nil
	}
	s := newScope()
	for _, n := range gd.Node {
		if op := strings.TrimPrefix(n.GetOp(), "Ref"); op != n.GetOp() && flowOps[op] {
			n = like(n, op, n.GetInput())
		}
		s.add(n)
	}
	if err := c.arrays(s); err != nil {
		return err
	}
	if err := c.loops(s); err != nil {
		return err
	}
	nodes, err := c.branches(s, roots)
	if err != nil {
		return err
	}
	gd.Node = nodes
	return nil
}

func (s *scope) add(n *nodeDef) {
	if s.nodes[n.GetName()] == nil {
		s.names = append(s.names, n.GetName())
	}
	s.nodes[n.GetName()] = n
	for _, in := range data(n) {
		if in.output > 0 {
			s.several[in.node] = true
		}
	}
}

// free returns a name that no node has.
func (s *scope) free(name string) string {
	return free(name, func(n string) bool { return s.nodes[n] != nil })
}

func free(name string, taken func(string) bool) string {
	for i := 0; ; i++ {
		n := name
		if i > 0 {
			n = fmt.Sprintf("%s_%d", name, i)
		}
		if !taken(n) {
			return n
		}
	}
}

// like returns a node with n's name, attributes and device, but another op.
func like(n *nodeDef, op string, inputs []string) *nodeDef {
	attrs := maps.Clone(n.GetAttr())
	if attrs == nil {
		attrs = map[string]*attrValue{}
	}
	return &nodeDef{Name: n.GetName(), Op: op, Input: slices.Clone(inputs), Device: n.GetDevice(), Attr: attrs}
}

// source is what an input names: an output of a node, or, with output -1, the node as a control input.
type source struct {
	node   string
	output int
}

func parse(input string) source {
	if name, ok := strings.CutPrefix(input, "^"); ok {
		return source{name, -1}
	}
	name, port, ok := strings.Cut(input, ":")
	if !ok {
		return source{name, 0}
	}
	i, err := strconv.Atoi(port)
	if err != nil || i < 0 {
		return source{name, 0} // the next reader of the graph refuses it
	}
	return source{name, i}
}

func (s source) String() string {
	switch {
	case s.output < 0:
		return "^" + s.node
	case s.output == 0:
		return s.node
	}
	return fmt.Sprintf("%s:%d", s.node, s.output)
}

// data returns a node's data inputs, controls its control inputs.
func data(n *nodeDef) []source {
	var out []source
	for _, in := range n.GetInput() {
		if src := parse(in); src.output >= 0 {
			out = append(out, src)
		}
	}
	return out
}

func controls(n *nodeDef) []string {
	return slices.DeleteFunc(slices.Clone(n.GetInput()), func(in string) bool { return !strings.HasPrefix(in, "^") })
}

// dtype is the type of the values that a node of control flow passes on.
func dtype(n *nodeDef) dataType { return n.GetAttr()["T"].GetType() }

// walk finds the nodes that the starts need, in the graph's order. It stops at the sources for which stop returns true.
func (c *converter) walk(s *scope, starts []source, stop func(source) bool) (region []*nodeDef, err error) {
	seen := map[string]bool{}
	stack := slices.Clone(starts)
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if c.visits++; c.visits > maxVisits {
			return nil, errVisits
		}
		if stop(at) || seen[at.node] {
			continue
		}
		n := s.nodes[at.node]
		if n == nil {
			return nil, fmt.Errorf("the graph has no node %q", at.node)
		}
		seen[at.node] = true
		region = append(region, n)
		for _, in := range n.GetInput() {
			stack = append(stack, parse(in))
		}
	}
	return region, nil
}

// argument is an argument of a function, which replaces some sources.
type argument struct {
	of []source // output -1 stands for any output
	t  dataType
}

// function makes a function of a region, whose results are the given sources.
func (c *converter) function(name string, args []argument, region []*nodeDef, results []source, types []dataType) (string, error) {
	inner := newScope()
	for _, n := range region {
		inner.nodes[n.GetName()] = n
	}
	given, outside := map[source]string{}, map[string]bool{}
	f := &inline.Callee{Name: free(name, func(n string) bool { return c.taken[n] })}
	c.taken[f.Name] = true
	var nodes []*nodeDef
	for i, a := range args {
		arg := &nodeDef{Name: inner.free(fmt.Sprintf("argument_%d", i)), Op: "Placeholder", Attr: map[string]*attrValue{"dtype": typeOf(a.t)}}
		nodes, f.Args = append(nodes, arg), append(f.Args, arg.Name)
		for _, of := range a.of {
			given[of], outside[of.node] = arg.Name, true
		}
	}
	rename := func(inputs []string) []string {
		var out []string
		for _, in := range inputs {
			src := parse(in)
			switch arg, ok := given[src]; {
			case ok:
				out = append(out, arg)
			case src.output >= 0 || !outside[src.node]:
				out = append(out, in)
			}
		}
		return out
	}
	for _, n := range region {
		if isPlaceholder(n) {
			return "", fmt.Errorf("node %q is read within a loop or condition of TensorFlow 1 that it is no input of", n.GetName())
		}
		if c.room -= proto.Size(n) + nodeBytes; c.room < 0 {
			return "", fmt.Errorf("the loops and conditions of TensorFlow 1 share so much that their functions take more than %d MiB", maxBytes>>20)
		}
		nodes = append(nodes, like(n, n.GetOp(), rename(n.GetInput())))
	}
	f.Result = inner.free("results")
	end := &nodeDef{Name: f.Result, Op: "IdentityN", Attr: map[string]*attrValue{"T": typeList(types)}}
	for _, r := range results {
		end.Input = append(end.Input, rename([]string{r.String()})...)
	}
	whole := newScope()
	for _, n := range append(nodes, end) {
		whole.add(n)
	}
	kept, err := c.branches(whole, append(slices.Clone(f.Args), f.Result))
	if err != nil {
		return "", err
	}
	f.Graph = &graph_go_proto.GraphDef{Node: kept, Versions: c.versions}
	c.made = append(c.made, f)
	return f.Name, nil
}

// isPlaceholder reports whether a node may be fed: a function gets its value from the caller.
func isPlaceholder(n *nodeDef) bool {
	return n.GetOp() == "Placeholder" || n.GetOp() == "PlaceholderWithDefault"
}

func typeOf(t dataType) *attrValue {
	return &attrValue{Value: &attr_value_go_proto.AttrValue_Type{Type: t}}
}

func typeList(types []dataType) *attrValue {
	return &attrValue{Value: &attr_value_go_proto.AttrValue_List{List: &attr_value_go_proto.AttrValue_ListValue{Type: types}}}
}

func funcOf(name string) *attrValue {
	return &attrValue{Value: &attr_value_go_proto.AttrValue_Func{Func: &attr_value_go_proto.NameAttrList{Name: name}}}
}
