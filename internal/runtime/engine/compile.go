package engine

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// Spec says what a program takes and returns.
type Spec struct {
	Feeds   []graph.Output // values given to Run, in this order; a fed output is not computed
	Fetches []graph.Output // values read after Run
	Targets []*graph.Node  // nodes run for their effects
}

// Options adjust a program.
type Options struct {
	Capacity      int  // batch rows to plan memory for; 0 means 1. A larger batch grows it.
	CheckNumerics bool // fail with a NumericsError at the first NaN or infinity
	Profile       bool // measure the time of every single node: see Program.Profile
	// OwnFetches gives every fetch memory of its own: no node uses it once the fetch is complete, and no other fetch,
	// feed, constant or variable shares it. The caller may then change what Value returned, from OnFetch on until the
	// next run.
	OwnFetches bool
	// OnFetch, if not nil, is called by Run, on its goroutine, as soon as fetch i is complete. From then on Value(i)
	// returns the fetch to all goroutines while the run goes on. OnFetch is called once for each fetch, unless the run
	// fails before. Nodes that make fetches run as early as they can. OnFetch must not call other methods of the
	// program or methods of its variables.
	OnFetch func(i int)

	// Updated says that other programs change the variables from run to run. Weights are then not packed for the kernels:
	// packed weights take as much memory again, and would have to be made for each run.
	Updated bool

	// HardPlacement refuses ops that an accelerator has no kernel for. Otherwise they run on the host: see
	// Program.HostSteps. Steps that run once per batch size may always run there.
	HardPlacement bool
	// Allow, if not nil, is called by Compile before it allocates memory for values; an error stops Compile.
	Allow func(bytes int) error
	// Precision is how an accelerator computes with float32 values; other devices always use float32.
	Precision Precision

	groupAll bool // for tests: run steps at the same time even where it does not pay
}

// Compile makes a program that runs on dev with the variables vars, which must be of the same device and have all
// variables that the program uses. Its error lists every node that cannot be compiled, as *UnsupportedOpError, ErrCycle,
// ErrNotFed or ErrVariable.
func Compile(g *graph.Graph, spec Spec, dev device.Device, vars *Variables, opts Options) (*Program, error) {
	t := targetOf(dev)
	plan, err := newPlan(g, spec, t, vars, opts)
	if err != nil {
		plan.releaseWeights(vars)
		return nil, fmt.Errorf("compile: %w", err)
	}
	p, err := newProgram(plan, t, dev, vars)
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	return p, nil
}

// newPlan plans a graph for a kind of device. Even if it fails, the plan has shared weights to release.
func newPlan(g *graph.Graph, spec Spec, t target, vars *Variables, opts Options) (*plan, error) {
	p := &plan{options: opts, onDevice: map[*value]bool{}, serial: opts.Profile}
	ops, err := collect(g, spec, p)
	if err != nil {
		return p, err
	}
	if err := connectVariables(ops, vars); err != nil {
		return p, err
	}
	p.written = writtenBy(ops)
	p.changing = p.written
	if opts.Updated {
		p.changing = touchedBy(ops)
	}
	ops = guardUpdates(ops, p.fetched)
	ops = fuseRagged(ops, p.fetched)
	ops = t.fuse(p, ops)
	if p.ops, err = order(ops, p.fetched, opts.OnFetch != nil); err != nil {
		return p, err
	}
	markOverflow(p.ops)
	makeValues(p.ops)
	if err := p.bindAll(t, &vars.weights); err != nil {
		return p, err
	}
	p.pinned = p.directReads()
	vars.weights.pin(p.pinned)
	assignFrequencies(p.steps, max(opts.Capacity, 1))
	p.splitByFrequency()
	p.splitPhases()
	p.connectSteps()
	return p, t.place(p, vars)
}

// makeValues gives every output a value and decides which share storage.
func makeValues(ops []*op) {
	for _, o := range ops {
		o.out = make([]*value, len(o.node.Outputs))
		for i, t := range o.node.Outputs {
			v := newValue(t)
			if t.DType == tensor.Resource || o.phantom {
				v.home = nowhere
			}
			o.out[i] = v
		}
		switch {
		case o.feed >= 0:
			o.out[0].home = inFeed
		case o.node.Op == "Const":
			o.out[0].home = inConst
		case o.reads != nil && !o.copy:
			o.out[0].home = inVariable
		case o.def.alias:
			o.out[0].root = o.in[0].value()
		}
	}
}

// bindAll makes a step of every op that computes something. Its error lists all ops that failed.
func (p *plan) bindAll(t target, shared *sharedWeights) error {
	var errs []error
	for _, o := range p.ops {
		if o.feed >= 0 || o.def.compile == nil || (o.reads != nil && !o.copy) {
			continue
		}
		s := &step{op: o, out: o.out}
		for _, from := range o.in {
			s.in = append(s.in, from.value())
		}
		if err := t.bind(p, s, shared); err != nil {
			errs = append(errs, &UnsupportedOpError{Op: o.node.Op, Node: o.node.Name, Reason: err.Error()})
			continue
		}
		if s.compute == nil {
			continue
		}
		p.updates = p.updates || len(o.write) > 0
		p.steps = append(p.steps, s)
	}
	return errors.Join(errs...)
}

// bind compiles the step as Go code, from its op or a copy of it with other variables. Changing variables are not packed.
func (s *step) bind(p *plan, o *op, changing map[*variable]bool, shared *sharedWeights) error {
	c := &binding{node: o.node, op: o, in: o.operands(s.in), out: s.out, changing: changing, shared: shared}
	run, err := compileOp(c)
	p.weights, p.own = append(p.weights, c.weights...), append(p.own, c.own...)
	if err != nil || run == nil {
		return err
	}
	if o.guarded {
		run = guarded(run, s.in[len(s.in)-1])
	}
	s.compute, s.onBatch, s.packed = run, c.onBatch, c.packed
	return nil
}

// releaseWeights releases the weights that the plan shares with other programs, and unpins the memory of variables.
func (p *plan) releaseWeights(vars *Variables) {
	for _, k := range p.weights {
		vars.weights.release(k)
	}
	vars.weights.unpin(p.pinned)
	p.weights, p.pinned = nil, nil
}

// compileOp makes the step of an op. A panic over an unexpected graph becomes an error.
func compileOp(c *binding) (run runFunc, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return c.op.def.compile(c)
}

// checkOp returns why an op cannot be compiled, apart from errors of its own compile function.
func checkOp(n *graph.Node) error {
	if !Supported(n.Op) {
		return &UnsupportedOpError{Op: n.Op, Node: n.Name}
	}
	if d := registry()[n.Op]; len(n.Outputs) < d.minOut(n.Op) || d.alias && len(n.Inputs) == 0 {
		return &UnsupportedOpError{Op: n.Op, Node: n.Name, Reason: fmt.Sprintf("it has %d inputs and %d outputs", len(n.Inputs), len(n.Outputs))}
	}
	for i, t := range n.Outputs {
		if t.DType == tensor.Resource {
			continue
		}
		if t.DType.Size() == 0 {
			return &UnsupportedOpError{Op: n.Op, Node: n.Name, Reason: fmt.Sprintf("output %d: element type %v is not computed", i, t.DType)}
		}
		if !t.Shape.Known() {
			return &UnsupportedOpError{Op: n.Op, Node: n.Name, Reason: fmt.Sprintf("output %d: shape %v must be known but for the batch size", i, t.Shape)}
		}
	}
	return nil
}
