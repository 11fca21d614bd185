package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/goestimator/goestimator/tensor"
)

// plan is what a Session does for one set of feeds and fetches.
type plan struct {
	s       *Session
	env     *eager.Env // for its eager nodes
	fetched []string   // names of the fetches
	feeds   []feed
	nodes   []*graph.Node // in an order of execution
	slots   map[graph.Output]int
	sources [][]int        // for each node: the slots of its inputs
	size    int            // number of slots
	makers  []*graph.Node  // for each slot, the node that computes it; nil for feeds
	dtypes  []tensor.DType // for each slot
	fetches []int          // slots
	eagerly bool           // all nodes are eager, since it updates variables
	targets []*graph.Node  // nodes that run for their effects
	room    sync.Pool      // *eager.Slots
	used    atomic.Int64   // the session's clock at the last run

	building sync.Mutex // makes one variant at a time; guards kernels
	kernels  map[*graph.Node]eager.Kernel

	mu       sync.Mutex
	forced   map[*graph.Node]error // nodes that turned out not to compile, and why
	variants []*variant            // the most recently used first
	closed   bool
}

// newPlan prunes and sorts the graph for the given names; targets are nodes to run for their effects.
func (s *Session) newPlan(feeds, fetches, targets []string) (*plan, error) {
	p := &plan{s: s, env: s.env, fetched: fetches, slots: map[graph.Output]int{}, forced: map[*graph.Node]error{}, kernels: map[*graph.Node]eager.Kernel{}}
	fed := map[graph.Output]bool{}
	for _, name := range feeds {
		o, ok := outputOf(s.graph, name)
		if !ok {
			return nil, invalid("the model has no tensor %q to feed", name)
		}
		f := feed{name: name, slot: p.slot(o), typ: o.Type()}
		if sh, ok := s.shapes[o]; ok {
			f.typ.Shape = sh
		}
		if fed[o] {
			return nil, invalid("tensor %q is fed twice", name)
		}
		fed[o] = true
		p.feeds = append(p.feeds, f)
	}
	r := &reach{s: s, fed: fed, data: map[*graph.Node]bool{}, all: map[*graph.Node]bool{}}
	var wanted []graph.Output
	for _, name := range fetches {
		o, ok := outputOf(s.graph, name)
		if !ok {
			return nil, invalid("the model has no tensor %q to fetch", name)
		}
		wanted = append(wanted, o)
		r.output(o)
	}
	for _, name := range targets {
		n := s.graph.Node(name)
		if n == nil {
			return nil, fmt.Errorf("the graph has no node %q", name)
		}
		r.node(n)
	}
	needed := r.run()
	p.eagerly, p.targets = r.writing, r.effects
	if err := p.sort(s.graph, needed, r.writing); err != nil {
		return nil, err
	}
	if r.writing {
		p.readLast(wanted, fed)
	}
	for _, n := range p.nodes {
		var from []int
		for _, in := range n.Inputs {
			from = append(from, p.slot(p.source(in, fed)))
		}
		p.sources = append(p.sources, from)
		for i := range n.Outputs {
			p.slot(n.Out(i))
		}
	}
	for _, o := range wanted {
		p.fetches = append(p.fetches, p.slot(p.source(o, fed)))
	}
	p.makers, p.dtypes = make([]*graph.Node, p.size), make([]tensor.DType, p.size)
	for o, at := range p.slots {
		p.dtypes[at] = o.DType()
		if !fed[o] {
			p.makers[at] = o.Node
		}
	}
	size := p.size
	p.room.New = func() any { return eager.NewSlots(size) }
	return p, nil
}

// readLast moves the reads of fetched reference variables to the end of the run: the fetched value shares the variable's memory,
// which updates change.
func (p *plan) readLast(wanted []graph.Output, fed map[graph.Output]bool) {
	last := map[graph.Output]*graph.Node{}
	for i, o := range wanted {
		read := origin(o, func(o graph.Output) bool { return fed[o] })
		if fed[read] || read.Node.Op != ops.ReadVariableOp.Name || !read.Node.Bool(inline.Reference) {
			continue
		}
		handle := read.Node.Inputs[0]
		n := last[handle]
		if n == nil {
			n = &graph.Node{Name: read.Node.Name, Op: read.Node.Op, Device: read.Node.Device, Inputs: read.Node.Inputs, Attrs: read.Node.Attrs, Outputs: read.Node.Outputs}
			last[handle] = n
			p.nodes = append(p.nodes, n)
		}
		wanted[i] = n.Out(0)
	}
}

// use notes that the plan is run. The clock only advances when a plan is made, so a busy plan is rarely written to.
func (p *plan) use() {
	if now := p.s.made.Load(); p.used.Load() != now {
		p.used.Store(now)
	}
}

// source follows an input back to the node that computes its value.
func (p *plan) source(o graph.Output, fed map[graph.Output]bool) graph.Output {
	if p.eagerly {
		return o // reads happen in the order of the nodes
	}
	return origin(o, func(o graph.Output) bool { return fed[o] })
}

// slot returns the slot of an output's value.
func (p *plan) slot(o graph.Output) int {
	i, ok := p.slots[o]
	if !ok {
		i = p.size
		p.slots[o] = i
		p.size++
	}
	return i
}

// sort orders the needed nodes.
func (p *plan) sort(g *graph.Graph, needed map[*graph.Node]bool, controls bool) error {
	part := graph.New()
	copies, back := map[*graph.Node]*graph.Node{}, map[*graph.Node]*graph.Node{}
	for _, n := range g.Nodes() {
		if !needed[n] {
			continue
		}
		c := &graph.Node{Name: n.Name, Op: n.Op}
		copies[n], back[c] = c, n
		if err := part.Add(c); err != nil {
			return err
		}
	}
	for n, c := range copies {
		for _, in := range n.Inputs {
			if to := copies[in.Node]; to != nil {
				c.Inputs = append(c.Inputs, to.Out(0))
			}
		}
		for _, m := range n.Control {
			if to := copies[m]; to != nil && controls {
				c.Control = append(c.Control, to)
			}
		}
	}
	for _, c := range copies {
		c.Outputs = make([]graph.Type, 1)
	}
	sorted, err := graph.Sort(part)
	if err != nil {
		return err
	}
	for _, c := range sorted {
		p.nodes = append(p.nodes, back[c])
	}
	return nil
}

// reach finds the nodes that outputs need.
type reach struct {
	s       *Session
	fed     map[graph.Output]bool
	data    map[*graph.Node]bool // over data edges only
	all     map[*graph.Node]bool // over control edges too
	roots   []*graph.Node
	effects []*graph.Node // needed nodes that no fetch needs
	writing bool
}

func (r *reach) output(o graph.Output) {
	if !r.fed[o] {
		r.roots = append(r.roots, o.Node)
	}
}

func (r *reach) node(n *graph.Node) { r.roots = append(r.roots, n) }

// run returns the nodes to run: all of them, in order, if some write; else the nodes that data and assertions
// need.
func (r *reach) run() map[*graph.Node]bool {
	r.walk(r.all, r.roots, true)
	for n := range r.all {
		r.writing = r.writing || r.s.updates(n)
		if r.s.asserts(n) {
			r.effects = append(r.effects, n)
		}
	}
	if r.writing {
		return r.all
	}
	r.walk(r.data, append(slices.Clone(r.roots), r.effects...), false)
	return r.data
}

func (r *reach) walk(seen map[*graph.Node]bool, from []*graph.Node, controls bool) {
	stack := slices.Clone(from)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		for _, in := range n.Inputs {
			if !r.fed[in] {
				stack = append(stack, in.Node)
			}
		}
		if !controls {
			continue
		}
		for _, before := range n.Control {
			if !r.given(before) {
				stack = append(stack, before)
			}
		}
	}
}

// given reports whether a node is a placeholder that is fed, so that there is nothing to wait for.
func (r *reach) given(n *graph.Node) bool {
	return (n.Op == "Placeholder" || n.Op == "PlaceholderV2") && len(n.Outputs) == 1 && r.fed[n.Out(0)]
}

// run computes the fetches.
func (p *plan) run(ctx context.Context, feeds map[string]*tensor.Tensor) ([]*tensor.Tensor, error) {
	share := p.share()
	if err := p.s.state.acquire(ctx, share); err != nil {
		return nil, err
	}
	defer p.s.state.release(share)
	r := &run{p: p, slots: p.room.Get().(*eager.Slots)}
	defer func() { r.slots.Clear(); p.room.Put(r.slots) }()
	if err := r.feed(feeds); err != nil {
		return nil, err
	}
	r.payer = r.payerOf(ctx)
	if p.s.passes {
		var end func()
		r.kept, end = r.room()
		defer end()
	}
	p.s.countedBy(r.payer.Account.Server())
	before := r.payer.Account.Mark()
	out, err := r.runUntilCompiled(ctx)
	kept := 0
	for _, t := range out {
		kept += t.MemoryBytes()
	}
	r.payer.Account.ReleaseSince(before, kept)
	if err != nil && err != errEvicted {
		err = r.blame(err)
	}
	return out, err
}

// runUntilCompiled runs the plan, and again if nodes turn out not to compile.
func (r *run) runUntilCompiled(ctx context.Context) ([]*tensor.Tensor, error) {
	p := r.p
	before := r.payer.Account.Mark()
	for range len(p.nodes) + 2 {
		r.payer.Account.ReleaseSince(before, 0)
		v, err := p.variant(r)
		if err != nil {
			return nil, err
		}
		r.slots.Begin(r.payer)
		err = v.runStages(ctx, r)
		if again, ok := err.(*notCompiled); ok && !p.eagerly {
			p.force(again.nodes)
			r.forget()
			continue
		}
		if err != nil {
			return nil, err
		}
		return r.results(v)
	}
	return nil, fmt.Errorf("the graph does not settle into parts that can be run")
}

// forget drops computed values, which are not paid for any more. The feeds stay.
func (r *run) forget() {
	for at, from := range r.p.makers {
		if from != nil {
			r.slots.Values[at] = eager.Value{}
		}
	}
}

// force makes nodes eager in later variants.
func (p *plan) force(nodes map[*graph.Node]error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.forced, nodes)
	for _, v := range p.variants {
		v.close()
	}
	p.variants = nil
}

// close frees the plan's programs once they are idle.
func (p *plan) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, v := range p.variants {
		v.close()
	}
	p.variants = nil
}

// run is one run of a plan.
type run struct {
	p     *plan
	slots *eager.Slots
	batch int
	payer eager.Payer
	kept  *dataset.Room // what passes over datasets keep
}

// results returns the fetches for the caller to own: a program's results as they are, copies of all others.
func (r *run) results(v *variant) ([]*tensor.Tensor, error) {
	out := make([]*tensor.Tensor, len(r.p.fetches))
	for i, at := range r.p.fetches {
		t := r.slots.Values[at].T
		if t == nil {
			return nil, fmt.Errorf("fetch %d is not a tensor", i)
		}
		if !v.fresh[at] || slices.Contains(r.p.fetches[:i], at) {
			if err := r.pay(t.MemoryBytes()); err != nil {
				return nil, err
			}
			t = t.Clone()
		}
		out[i] = t
	}
	return out, nil
}
