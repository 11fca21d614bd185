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

// Reference is the attribute of reads that stand for a reference variable itself: a fetch of one gets the value at the end of the run.
const Reference = "_reference"

// references replaces reference variables.
type references struct {
	handles   map[string]string // name of a node that stands for a variable -> name of its handle
	variables map[string]bool   // names of nodes that are variables, not updates
	shares    map[string]string // name of a node whose value shares a variable's memory -> name of its handle
	dtypes    map[string]*attrValue
	later     map[string]map[string]bool // by handle: updates of the variable, and the nodes that run after them
	taken     map[string]bool
	out       []*nodeDef
}

// onResource returns the op on resource variables for an update of reference variables, or nil if there is none.
func onResource(op string) *ops.Def {
	d := ops.Find(op)
	if d == nil {
		return nil
	}
	if on := d.OnResource(); on != nil || !updatesReference(op) {
		return on
	}
	return ops.Find("Resource" + op) // an optimizer's rule, for several variables
}

// givesReference reports whether an update returns a reference to the variable, unlike CountUpTo, which returns a value.
func givesReference(op string) bool {
	on := onResource(op)
	return on != nil && len(ops.Find(op).Outputs()) == 1 && ops.Find(op).Outputs()[0].Ref
}

// updatesReference reports whether an op updates its first input, a reference.
func updatesReference(op string) bool {
	d := ops.Find(op)
	return d != nil && d.State == ops.Writes && len(d.Inputs()) > 0 && d.Inputs()[0].Ref
}

// lowerReferences turns VariableV2 and Variable nodes into resource variables: the node becomes a read of the handle
// "node/handle", and a node that updates becomes a read after the update "node/update".
func lowerReferences(gd *graph_go_proto.GraphDef, taken map[string]bool) error {
	r := &references{handles: map[string]string{}, variables: map[string]bool{}, dtypes: map[string]*attrValue{}, taken: taken}
	for _, n := range gd.Node {
		if n.GetOp() == "VariableV2" || n.GetOp() == "Variable" {
			h := r.name(n.GetName() + "/handle")
			r.handles[n.GetName()], r.variables[n.GetName()], r.dtypes[h] = h, true, n.GetAttr()["dtype"]
		}
	}
	if len(r.handles) == 0 {
		return nil
	}
	r.handles = follow(gd.Node, r.handles, func(n *nodeDef) bool { return givesReference(n.GetOp()) || n.GetOp() == "RefIdentity" })
	r.shares = follow(gd.Node, r.handles, func(n *nodeDef) bool { return passes(n.GetOp()) })
	if err := r.order(gd.Node); err != nil {
		return err
	}
	for _, n := range gd.Node {
		if err := r.node(n); err != nil {
			return fmt.Errorf("node %q (%s): %w", n.GetName(), n.GetOp(), err)
		}
	}
	gd.Node = r.out
	return nil
}

// passes reports whether an op returns its input, in the same memory.
func passes(op string) bool {
	switch op {
	case "Identity", "RefIdentity", "StopGradient", "PreventGradient", "GuaranteeConst":
		return true
	}
	return false
}

// follow extends the map of nodes that belong to variables. It adds all nodes that take one as first input and for which passes
// is true, such as updates, which return a reference to the same variable.
func follow(nodes []*nodeDef, of map[string]string, passes func(n *nodeDef) bool) map[string]string {
	users := map[string][]string{} // by the node of input 0
	for _, n := range nodes {
		if len(n.GetInput()) > 0 && passes(n) {
			from := nodeName(n.GetInput()[0])
			users[from] = append(users[from], n.GetName())
		}
	}
	all := maps.Clone(of)
	next := slices.Collect(maps.Keys(of))
	for len(next) > 0 {
		from := next[len(next)-1]
		next = next[:len(next)-1]
		for _, u := range users[from] {
			if all[u] == "" {
				all[u] = all[from]
				next = append(next, u)
			}
		}
	}
	return all
}

// maxFollowed bounds the edges that are followed from updates to later nodes, over all variables.
const maxFollowed = 1 << 24

// order finds the updates of each variable, and the nodes that run after them.
func (r *references) order(nodes []*nodeDef) error {
	updates, users := map[string][]string{}, map[string][]string{}
	for _, n := range nodes {
		for _, in := range n.GetInput() {
			from := nodeName(in)
			users[from] = append(users[from], n.GetName())
		}
		if onResource(n.GetOp()) != nil {
			for _, k := range variableInputs(n) {
				h := r.handles[nodeName(n.GetInput()[k])]
				updates[h] = append(updates[h], n.GetName())
			}
		}
	}
	r.later = map[string]map[string]bool{}
	followed := 0
	for h, queue := range updates {
		seen := map[string]bool{}
		for _, n := range queue {
			seen[n] = true
		}
		for len(queue) > 0 {
			next := users[queue[len(queue)-1]]
			queue = queue[:len(queue)-1]
			if followed += 1 + len(next); followed > maxFollowed {
				return fmt.Errorf("too many nodes follow updates of reference variables")
			}
			for _, n := range next {
				if !seen[n] {
					seen[n] = true
					queue = append(queue, n)
				}
			}
		}
		r.later[h] = seen
	}
	return nil
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
		return r.update(n)
	case updatesReference(op):
		return fmt.Errorf("an update of a reference variable that is not supported: save the model with tf.compat.v1.enable_resource_variables()")
	case op == "IsVariableInitialized" && handle != "":
		r.out = append(r.out, &nodeDef{Name: n.GetName(), Op: "VarIsInitializedOp", Input: append([]string{handle}, n.GetInput()[1:]...)})
	case (op == "Identity" || op == "RefIdentity") && handle != "":
		r.out = append(r.out, r.read(n.GetName(), handle, n.GetAttr()["T"], r.after(n)))
	default:
		r.reader(n)
	}
	return nil
}

// variable adds the handle, and a read with the variable's own name.
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
	return &nodeDef{Name: name, Op: "ReadVariableOp", Input: append([]string{handle}, after...), Attr: map[string]*attrValue{"dtype": dtype,
		Reference: {Value: &attr_value_go_proto.AttrValue_B{B: true}}}}
}

// update adds the write, and a read after it with the node's own name.
func (r *references) update(n *nodeDef) error {
	dtype := n.GetAttr()["T"]
	if dtype == nil {
		return fmt.Errorf("expected an attribute T")
	}
	w := &nodeDef{Name: r.name(n.GetName() + "/update"), Op: onResource(n.GetOp()).Name, Attr: maps.Clone(n.GetAttr())}
	w.Attr["dtype"] = dtype
	delete(w.Attr, "validate_shape") // it means something else there
	after, variables := controls(n), variableInputs(n)
	for k, in := range n.GetInput() {
		switch {
		case strings.HasPrefix(in, "^"):
		case slices.Contains(variables, k):
			h := r.handles[nodeName(in)]
			if h == "" {
				return fmt.Errorf("expected a variable as input %d", k)
			}
			w.Input, after = append(w.Input, h), r.following(nodeName(in), after)
		default:
			w.Input = append(w.Input, r.value(n, k))
		}
	}
	if len(w.Input) == 0 {
		return fmt.Errorf("expected a variable as input 0")
	}
	handle := w.Input[0]
	w.Input = append(w.Input, after...)
	if !givesReference(n.GetOp()) {
		w.Name = n.GetName()
		r.out = append(r.out, w)
		return nil
	}
	r.out = append(r.out, w, r.read(n.GetName(), handle, dtype, []string{"^" + w.Name}))
	return nil
}

// variableInputs returns the indices of an update's inputs that are variables.
func variableInputs(n *nodeDef) (at []int) {
	d := ops.Find(n.GetOp())
	total := len(n.GetInput()) - len(controls(n))
	for k := range total {
		if d.InputAt(k, total).Ref {
			at = append(at, k)
		}
	}
	return at
}

// after returns the control inputs that node n, with a variable as input 0, needs: its own, and the update whose
// result that input is.
func (r *references) after(n *nodeDef) []string {
	return r.following(nodeName(n.GetInput()[0]), controls(n))
}

// following adds an update whose result is read to the control inputs. It does not add a variable itself, which may
// have no value yet.
func (r *references) following(node string, after []string) []string {
	if r.variables[node] {
		return after
	}
	return append([]string{"^" + node}, after...)
}

// reader keeps a node. If it runs after updates of a variable, it sees the updated value.
func (r *references) reader(n *nodeDef) {
	c := n
	for i, in := range n.GetInput() {
		if strings.HasPrefix(in, "^") {
			break
		}
		if v := r.value(n, i); v != in {
			if c == n {
				c = clone(n)
			}
			c.Input[i] = v
		}
	}
	r.out = append(r.out, c)
}

// value returns data input i of a node. If the input shares the memory of a variable that is updated before the node runs, that is
// a new read, since an earlier value changes with the variable. The read waits for everything that the node waits for.
func (r *references) value(n *nodeDef, i int) string {
	in := n.GetInput()[i]
	h := r.shares[nodeName(in)]
	if h == "" || n.GetOp() == "Merge" || n.GetOp() == "RefMerge" { // these take the value that comes first
		return in
	}
	after, updated := controls(n), false
	for k, other := range n.GetInput() {
		if k == i {
			continue
		}
		name := nodeName(other)
		updated = updated || r.later[h][name]
		if !strings.HasPrefix(other, "^") && !r.variables[name] { // a variable may have no value yet
			after = append(after, "^"+name)
		}
	}
	if !updated {
		return in
	}
	slices.Sort(after)
	read := r.read(r.name(fmt.Sprintf("%s/input_%d", n.GetName(), i)), h, r.dtypes[h], r.following(nodeName(in), slices.Compact(after)))
	r.out = append(r.out, read)
	return read.Name
}

func controls(n *nodeDef) []string {
	i := slices.IndexFunc(n.GetInput(), func(s string) bool { return strings.HasPrefix(s, "^") })
	if i < 0 {
		return nil
	}
	return slices.Clone(n.GetInput()[i:])
}
