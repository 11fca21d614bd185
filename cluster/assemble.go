package cluster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// assembly adds to a traced graph the nodes that sessions use by name.
type assembly struct {
	from   *construction
	b      *graph.Builder
	scopes map[string]*scope // of nodes by name
	roots  []*graph.Node     // fetches and the update
	more   []*graph.Node     // other nodes that sessions use
	out    *Graph
}

// assemble makes the graph of a construction with a symbolic batch.
func (c *construction) assemble() (*Graph, error) {
	a := &assembly{from: c, b: graph.NewBuilder(c.tracing.Graph), scopes: c.scopes, out: &Graph{}}
	variables := c.Variables()
	if c.tracing.Used()[c.tracing.Step] || c.train != nil { // random ops depend on the step
		variables = append(slices.Clip(variables), &models.Variable{Name: distribute.GlobalStep, DType: tensor.Int64, Init: initializers.Zeros()})
	}
	for _, r := range c.outs {
		if err := a.fetch(r); err != nil {
			return nil, fmt.Errorf("fetch %q: %w", r.name, err)
		}
	}
	if c.train != nil && len(update.AverageSlots(c.train.op)) > 0 {
		return nil, errors.New("averages of weights in a session's graph: expected none, an Estimator and package distribute keep them")
	}
	if c.train != nil && c.train.op.SkipNonFinite > 0 {
		return nil, errors.New("skip_nonfinite in a session's graph: expected 0, an Estimator and package distribute leave updates out")
	}
	if c.train != nil {
		if _, waits, _ := c.train.op.Plateau(); waits {
			return nil, errors.New("a learning rate that waits for a plateau of evaluations: expected another schedule in a session's graph, an Estimator has such ones")
		}
		if err := a.train(c.train); err != nil {
			return nil, fmt.Errorf("train %q: %w", c.train.name, err)
		}
		variables = append(variables, slots(c.train.op)...)
	}
	if err := a.portable(); err != nil {
		return nil, err
	}
	for _, v := range variables {
		a.initialize(v)
	}
	if err := a.b.Err(); err != nil {
		return nil, err
	}
	g := graph.Prune(a.b.Graph, append(a.placeholders(), slices.Concat(a.roots, a.more)...)...)
	if err := a.place(g); err != nil {
		return nil, err
	}
	def, err := export.GraphDef(g)
	a.out.def = def
	return a.out, err
}

// portable rewrites nodes that only this project's engine can run. New nodes belong to the update.
func (a *assembly) portable() error {
	before := len(a.b.Graph.Nodes())
	err := export.Portable(a.b, a.roots...)
	if t := a.from.train; t != nil {
		for _, n := range a.b.Graph.Nodes()[before:] {
			a.scopes[n.Name] = t.scope
		}
	}
	return err
}

// placeholders returns the inputs: sessions may feed them even if nothing needs them.
func (a *assembly) placeholders() (all []*graph.Node) {
	for _, n := range a.b.Graph.Nodes() {
		if n.Op == "Placeholder" {
			all = append(all, n)
		}
	}
	return all
}

// slots returns an optimizer's variables.
func slots(op *optimizers.TrainOp) (all []*models.Variable) {
	for _, s := range update.Slots(op) {
		shape := make([]int, s.Type.Shape.Rank())
		for i, d := range s.Type.Shape.Dims {
			shape[i] = d.Const
		}
		all = append(all, &models.Variable{Name: s.Name, DType: s.Type.DType, Shape: shape, Init: s.Init})
	}
	return all
}

// named adds a node under exactly that name.
func (a *assembly) named(op, name string, out []graph.Type, attrs graph.Attrs, in ...graph.Output) (*graph.Node, error) {
	if other := a.b.Graph.Node(name); other != nil {
		return nil, fmt.Errorf("the name is that of a %s: expected another name", other.Op)
	}
	n := a.b.Node(op, name, out, attrs, in...)
	a.roots = append(a.roots, n)
	return n, a.b.Err()
}

func (a *assembly) fetch(r result) error {
	n, err := a.named("Identity", r.name, []graph.Type{r.out.Type()}, graph.Attrs{"T": r.out.DType()}, r.out)
	if err == nil {
		a.scopes[n.Name] = r.scope
	}
	return err
}

// initialize adds the nodes that set a variable's first value and read it.
func (a *assembly) initialize(v *models.Variable) {
	t := graph.TypeOf(v.DType, v.Shape...)
	handle := a.b.Variable(v.Name, t)
	if a.b.Err() != nil {
		return
	}
	name := handle.Node.Name
	first := a.b.Placeholder(name+"/initial_value", t)
	assign := rule.Assign(a.b, "AssignVariableOp", name+"/Assign", handle, first)
	has := a.b.Node("VarIsInitializedOp", name+"/IsInitialized", []graph.Type{{DType: tensor.Bool}}, nil, handle)
	read := a.b.Graph.Node(name + "/Read/ReadVariableOp")
	if read == nil {
		if read = a.b.Read(handle, t).Node; read == nil {
			return
		}
	}
	a.more = append(a.more, assign, has, read)
	a.out.variables = append(a.out.variables, variable{Variable: v, key: models.Key(a.from.Seed(), v.Name), first: first.Node.Name, assign: assign.Name, initialized: has.Name, read: read.Name})
}

// train adds the update, including the assignments of Builder.Assign. It increments the step after everything else.
func (a *assembly) train(t *train) error {
	before := len(a.b.Graph.Nodes())
	last, err := a.update(t)
	if err != nil {
		return err
	}
	one := a.b.Const(t.name+"/one", tensor.Scalar(int64(1)))
	step := a.b.Variable(distribute.GlobalStep, graph.TypeOf(tensor.Int64))
	count := rule.Assign(a.b, "AssignAddVariableOp", t.name+"/global_step", step, one, last...)
	n, err := a.named("NoOp", t.name, nil, nil)
	if err != nil {
		return err
	}
	n.Control = []*graph.Node{count}
	for _, n := range a.b.Graph.Nodes()[before:] {
		a.scopes[n.Name] = t.scope
	}
	a.scopes[step.Node.Name] = t.scope
	return nil
}

// update adds the nodes that change variables, and returns them.
func (a *assembly) update(t *train) ([]*graph.Node, error) {
	applied, err := update.Emit(t.op, a.b, update.Env{GlobalStep: a.from.tracing.Step, Gradients: t.effects.Values()})
	if err != nil {
		return nil, err
	}
	last := applied.Targets
	for _, u := range t.effects.Updates {
		handle := a.b.Variable(u.Variable, u.Value.Type())
		last = append(last, rule.Assign(a.b, "AssignVariableOp", u.Variable+"/Update", handle, u.Value))
	}
	return last, nil
}

// place sets the device of each node. A node that takes resources is placed with them; resources of one node are placed together.
func (a *assembly) place(g *graph.Graph) error {
	slots := map[*graph.Node]bool{} // resources placed with a variable
	for _, n := range g.Nodes() {
		for i, in := range n.Inputs {
			if i > 0 && in.DType() == tensor.Resource && n.Inputs[0].DType() == tensor.Resource {
				slots[in.Node] = true
			}
		}
	}
	for _, n := range g.Nodes() {
		if slots[n] || slices.ContainsFunc(n.Inputs, func(in graph.Output) bool { return in.DType() == tensor.Resource }) {
			continue
		}
		device, err := a.scopes[n.Name].device(opOf(n))
		if err != nil {
			return err
		}
		n.Device = device
	}
	return nil
}

// opOf returns what placements see of a node.
func opOf(n *graph.Node) Op {
	op := Op{Type: n.Op, Name: n.Name}
	var t graph.Type
	if n.Op == "VarHandleOp" {
		t.DType, _ = n.Attrs["dtype"].(tensor.DType)
		t.Shape, _ = n.Attrs["shape"].(graph.Shape)
	} else if len(n.Outputs) > 0 {
		t = n.Outputs[0]
	}
	op.DType = t.DType
	for _, d := range t.Shape.Dims {
		size := -1
		if d.Static() {
			size = d.Const
		}
		op.Shape = append(op.Shape, size)
	}
	return op
}
