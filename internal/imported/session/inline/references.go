package inline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
)

// references replaces reference variables.
type references struct {
	handles   map[string]string // name of a node that stands for a variable -> name of its handle
	variables map[string]bool   // names of those that are variables, not updates
	taken     map[string]bool
	out       []*nodeDef
}

// onResource returns the op that updates a resource variable as the named one does a reference variable, nil where there is none.
func onResource(op string) *ops.Def {
	if d := ops.Find(op); d != nil {
		return d.OnResource()
	}
	return nil
}

// lowerReferences makes resource variables of VariableV2 and Variable nodes: the node itself becomes a read, "node/handle"
// the handle; a node that updates becomes a read after the update "node/update".
func lowerReferences(gd *graph_go_proto.GraphDef, taken map[string]bool) error {
	r := &references{handles: map[string]string{}, variables: map[string]bool{}, taken: taken}
	for _, n := range gd.Node {
		if n.GetOp() == "VariableV2" || n.GetOp() == "Variable" {
			r.handles[n.GetName()], r.variables[n.GetName()] = r.name(n.GetName()+"/handle"), true
		}
	}
	if len(r.handles) == 0 {
		return nil
	}
	r.follow(gd.Node)
	for _, n := range gd.Node {
		if err := r.node(n); err != nil {
			return fmt.Errorf("node %q (%s): %w", n.GetName(), n.GetOp(), err)
		}
	}
	gd.Node = r.out
	return nil
}

// follow finds what else stands for a variable: the result of an update is a reference to the same.
func (r *references) follow(nodes []*nodeDef) {
	users := map[string][]string{} // by the node of input 0
	for _, n := range nodes {
		if (onResource(n.GetOp()) != nil || n.GetOp() == "RefIdentity") && len(n.GetInput()) > 0 {
			from := nodeName(n.GetInput()[0])
			users[from] = append(users[from], n.GetName())
		}
	}
	next := slices.Collect(maps.Keys(r.handles))
	for len(next) > 0 {
		from := next[len(next)-1]
		next = next[:len(next)-1]
		for _, u := range users[from] {
			if r.handles[u] == "" {
				r.handles[u] = r.handles[from]
				next = append(next, u)
			}
		}
	}
}

func (r *references) name(want string) string {
	for r.taken[want] {
		want += "_"
	}
	r.taken[want] = true
	return want
}

func (r *references) node(n *nodeDef) error {
	handle := ""
	if len(n.GetInput()) > 0 {
		handle = r.handles[nodeName(n.GetInput()[0])]
	}
	switch op := n.GetOp(); {
	case op == "VariableV2" || op == "Variable":
		return r.variable(n)
	case onResource(op) != nil:
		if handle == "" {
			return fmt.Errorf("expected a variable as input 0")
		}
		return r.update(n, handle)
	case op == "IsVariableInitialized" && handle != "":
		r.out = append(r.out, &nodeDef{Name: n.GetName(), Op: "VarIsInitializedOp", Input: append([]string{handle}, n.GetInput()[1:]...)})
	case (op == "Identity" || op == "RefIdentity") && handle != "":
		r.out = append(r.out, r.read(n.GetName(), handle, n.GetAttr()["T"], r.after(n)))
	default:
		r.reader(n)
	}
	return nil
}

// variable adds the handle and a read under the variable's own name.
func (r *references) variable(n *nodeDef) error {
	shared := string(n.GetAttr()["shared_name"].GetS())
	if shared == "" {
		shared = n.GetName()
	}
	dtype := n.GetAttr()["dtype"]
	if dtype == nil {
		return fmt.Errorf("expected an attribute dtype")
	}
	h := &nodeDef{Name: r.handles[n.GetName()], Op: "VarHandleOp", Device: n.GetDevice(), Attr: map[string]*attrValue{"dtype": dtype,
		"shared_name": {Value: &attr_value_go_proto.AttrValue_S{S: []byte(shared)}}}}
	if s := n.GetAttr()["shape"]; s != nil {
		h.Attr["shape"] = s
	}
	r.out = append(r.out, h, r.read(n.GetName(), h.Name, dtype, controls(n)))
	return nil
}

func (r *references) read(name, handle string, dtype *attrValue, after []string) *nodeDef {
	return &nodeDef{Name: name, Op: "ReadVariableOp", Input: append([]string{handle}, after...), Attr: map[string]*attrValue{"dtype": dtype}}
}

// update adds the write and, under the node's own name, a read after it.
func (r *references) update(n *nodeDef, handle string) error {
	dtype := n.GetAttr()["T"]
	if dtype == nil {
		return fmt.Errorf("expected an attribute T")
	}
	after := r.after(n)
	w := &nodeDef{Name: r.name(n.GetName() + "/update"), Op: onResource(n.GetOp()).Name, Attr: map[string]*attrValue{"dtype": dtype}}
	if t := n.GetAttr()["Tindices"]; t != nil {
		w.Attr["Tindices"] = t
	}
	w.Input = append([]string{handle}, r.values(n, 1)...)
	w.Input = append(w.Input, after...)
	r.out = append(r.out, w, r.read(n.GetName(), handle, dtype, []string{"^" + w.Name}))
	return nil
}

// after returns what node n, which names a variable in input 0, has to wait for: its control inputs, and the update whose
// result that input is.
func (r *references) after(n *nodeDef) []string {
	return r.following(nodeName(n.GetInput()[0]), controls(n))
}

// following adds an update, whose result is read, to what is to be waited for. A variable itself is not: it may
// have no value yet.
func (r *references) following(node string, after []string) []string {
	if r.variables[node] {
		return after
	}
	return append([]string{"^" + node}, after...)
}

// values returns the data inputs from position i on.
func (r *references) values(n *nodeDef, i int) []string {
	var out []string
	for _, in := range n.GetInput()[i:] {
		if !strings.HasPrefix(in, "^") {
			out = append(out, in)
		}
	}
	return out
}

// reader keeps a node. Where it waits for others, it sees variables as they are after these.
func (r *references) reader(n *nodeDef) {
	after := controls(n)
	var c *nodeDef
	for i, in := range n.GetInput() {
		h := r.handles[nodeName(in)]
		if len(after) == 0 || h == "" || strings.HasPrefix(in, "^") {
			continue
		}
		if c == nil {
			c = clone(n)
		}
		dtype := n.GetAttr()["T"]
		if dtype == nil {
			break // not an op on one type: it reads as early as it may
		}
		read := r.read(r.name(fmt.Sprintf("%s/input_%d", n.GetName(), i)), h, dtype, r.following(nodeName(in), after))
		r.out = append(r.out, read)
		c.Input[i] = read.Name
	}
	if c != nil {
		n = c
	}
	r.out = append(r.out, n)
}

func controls(n *nodeDef) []string {
	i := slices.IndexFunc(n.GetInput(), func(s string) bool { return strings.HasPrefix(s, "^") })
	if i < 0 {
		return nil
	}
	return slices.Clone(n.GetInput()[i:])
}
