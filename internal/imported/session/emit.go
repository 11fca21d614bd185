package session

import (
	"errors"
	"fmt"
	"maps"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// compilable reports whether a node can be part of a program, whatever its sizes.
func (p *plan) compilable(n *graph.Node) bool {
	if p.forced[n] != nil || !compiles(n.Op) || len(n.Outputs) == 0 {
		return false
	}
	for _, t := range n.Outputs {
		if t.DType.Size() == 0 {
			return false
		}
	}
	for i, in := range n.Inputs {
		if d := in.DType(); d == tensor.Resource && i == 0 && (n.Op == "ReadVariableOp" || n.Op == "ResourceGather") {
			name, ok := p.s.vars.of(in)
			if t, has := p.s.vars.typ(name); !ok || !has || p.s.vars.updated[name] || t.DType.Size() == 0 {
				return false
			}
		} else if d.Size() == 0 {
			return false
		}
	}
	return true
}

// emitter builds the engine's graph of a stage.
type emitter struct {
	s    *compiledStage
	sp   *special
	p    *plan
	b    *graph.Builder
	made map[int]graph.Output // by slot
	wide map[int]graph.Output // by slot: 16-bit values as float32
	// unrounded has the slots of wide values that their readers round.
	unrounded map[int]bool
	vars      map[string]graph.Output
	owners    map[string]*graph.Node // by the name of a node in the engine's graph
}

// emit builds the stage's graph for the sizes of sp.
func (s *compiledStage) emit(sp *special) (*emitter, engine.Spec, error) {
	e := &emitter{s: s, sp: sp, p: s.v.p, b: graph.NewBuilder(graph.New()), made: map[int]graph.Output{}, wide: map[int]graph.Output{}, unrounded: map[int]bool{}, vars: map[string]graph.Output{}, owners: map[string]*graph.Node{}}
	var spec engine.Spec
	for i, at := range s.feeds {
		o := e.b.Placeholder(fmt.Sprintf("feed_%d", i), sp.types[i])
		e.made[at] = o
		spec.Feeds = append(spec.Feeds, o)
	}
	refused := map[*graph.Node]error{}
	for _, i := range s.nodes {
		if err := e.node(i); err != nil {
			refused[e.p.nodes[i]] = err
		}
	}
	if len(refused) > 0 {
		if !sp.concrete && s.late {
			return nil, spec, errNotLinear
		}
		return nil, spec, &notCompiled{refused}
	}
	for _, at := range s.fetches {
		spec.Fetches = append(spec.Fetches, e.fetched(at))
	}
	return e, spec, e.b.Err()
}

// typ returns the type of a slot's value.
func (e *emitter) typ(at int, d tensor.DType) (graph.Type, error) {
	s, ok := e.s.v.fit(e.sp.probes[0][at], e.sp.probes[1][at])
	if !ok {
		return graph.Type{}, errNotLinear
	}
	return graph.Type{DType: d, Shape: s}, nil
}

// node adds one node in the engine's form.
func (e *emitter) node(i int) error {
	if d, ok := halfOf(e.p.nodes[i]); ok {
		return e.half(i, d)
	}
	return e.plain(i)
}

// plain adds a node with its own types.
func (e *emitter) plain(i int) error {
	n := e.p.nodes[i]
	x := &emission{emitter: e, n: n, attrs: n.Attrs}
	for k := range n.Inputs {
		in, err := e.input(i, k)
		if err != nil {
			return err
		}
		x.in = append(x.in, in)
	}
	for k := range n.Outputs {
		t, err := e.typ(e.p.slots[n.Out(k)], n.Outputs[k].DType)
		if err != nil {
			return err
		}
		x.types = append(x.types, t)
	}
	form := forms[ops.Find(n.Op)]
	if form == nil {
		form = asItIs
	}
	outs, err := form(x)
	if err != nil {
		return err
	}
	for k := range n.Outputs {
		if k < len(outs) {
			e.made[e.p.slots[n.Out(k)]] = outs[k]
		}
	}
	return e.b.Err()
}

// input returns input k of node i: made in the stage, a feed, a constant or a variable.
func (e *emitter) input(i, k int) (graph.Output, error) {
	n, at := e.p.nodes[i], e.p.sources[i][k]
	if o, ok := e.made[at]; ok {
		return o, nil
	}
	a, b := e.sp.probes[0][at], e.sp.probes[1][at]
	switch {
	case n.Inputs[k].DType() == tensor.Resource:
		return e.variable(n.Inputs[k])
	case same(a, b) || inputRole(n.Op, k, len(n.Inputs)) == ops.RoleSize && a.T != nil:
		o := e.b.Const(e.b.Graph.UniqueName(fmt.Sprintf("const_%d", at)), a.T)
		if same(a, b) {
			e.made[at] = o
		}
		return o, e.b.Err()
	}
	if from := e.p.makers[at]; from != nil && from.Op == "ReadVariableOp" {
		o, err := e.read(from)
		e.made[at] = o
		return o, err
	}
	return graph.Output{}, fmt.Errorf("input %d is not there", k)
}

// variable returns the engine's handle for a variable.
func (e *emitter) variable(o graph.Output) (graph.Output, error) {
	name, ok := e.p.s.vars.of(o)
	if !ok {
		return o, fmt.Errorf("expected a variable")
	}
	return e.handle(name)
}

func (e *emitter) handle(name string) (graph.Output, error) {
	if err := e.p.s.vars.compile(name); err != nil {
		return graph.Output{}, err
	}
	t, _ := e.p.s.vars.engine.Type(name)
	return e.b.Variable(name, t), e.b.Err()
}

// read returns the value of the variable that a node of the model reads.
func (e *emitter) read(n *graph.Node) (graph.Output, error) {
	name, ok := e.p.s.vars.readBy(n)
	if !ok {
		return graph.Output{}, fmt.Errorf("node %q: expected a variable to read", n.Name)
	}
	h, err := e.handle(name)
	if err != nil {
		return h, err
	}
	if r, ok := e.vars[name]; ok {
		return r, nil
	}
	t, _ := e.p.s.vars.engine.Type(name)
	r := e.b.Read(h, t)
	e.vars[name] = r
	return r, e.b.Err()
}

// refused finds the nodes that the engine refused.
func (s *compiledStage) refused(err error, owners map[string]*graph.Node) error {
	nodes := map[*graph.Node]error{}
	for _, e := range leaves(err) {
		var u *engine.UnsupportedOpError
		if !errors.As(e, &u) {
			return err
		}
		if u.Placement {
			return fmt.Errorf("%w: %w", errPlacement, err)
		}
		n := owners[u.Node]
		if n == nil {
			return err
		}
		nodes[n] = u
	}
	if len(nodes) == 0 {
		return err
	}
	return &notCompiled{nodes}
}

// leaves returns the errors that err joins.
func leaves(err error) []error {
	switch x := err.(type) {
	case *engine.UnsupportedOpError:
		return []error{err}
	case interface{ Unwrap() []error }:
		var all []error
		for _, e := range x.Unwrap() {
			all = append(all, leaves(e)...)
		}
		return all
	case interface{ Unwrap() error }:
		if inner := x.Unwrap(); inner != nil {
			return leaves(inner)
		}
	}
	return []error{err}
}

// emission is one node while it is added to the engine's graph.
type emission struct {
	*emitter
	n     *graph.Node
	in    []graph.Output
	types []graph.Type
	attrs graph.Attrs
	// operands is the 16-bit type of the product's operands; Invalid if they have another type.
	operands tensor.DType
}

// add adds the node under its own name as the given op.
func (x *emission) add(op string, types []graph.Type, attrs graph.Attrs, in ...graph.Output) *graph.Node {
	n := x.b.Node(op, x.n.Name, types, maps.Clone(attrs), in...)
	if n != nil {
		x.owners[n.Name] = x.n
	}
	return n
}

func asItIs(x *emission) ([]graph.Output, error) {
	return outputs(x.add(x.n.Op, x.types, x.attrs, x.in...)), x.b.Err()
}

// outputs returns all outputs of a node.
func outputs(n *graph.Node) []graph.Output {
	if n == nil {
		return nil
	}
	all := make([]graph.Output, len(n.Outputs))
	for i := range all {
		all[i] = n.Out(i)
	}
	return all
}
