package cluster

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distribute/trace"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Options configure Build.
type Options struct {
	Mode  models.Mode  // default models.Train
	Seed  int64        // of initial values and random ops
	DType tensor.DType // of variables and activations: Float32 (default) or Float64
}

// Builder is a models.Builder whose ops have devices. It gives names to the fetches and the update that sessions run.
type Builder struct {
	*models.Builder
	scope  *scope
	placed map[*G.Node]*scope // of all nodes that exist when a scope begins or ends
	outs   []result
	train  *train // nil: none
}

// result is a node with a name.
type result struct {
	name  string
	node  *G.Node
	scope *scope
	out   graph.Output
}

// train is an update with a name.
type train struct {
	name    string
	op      *optimizers.TrainOp
	scope   *scope
	effects trace.Effects
}

// Device places the ops and variables that fn makes. Parts of a device that an inner scope sets override those of an outer one.
func (b *Builder) Device(where Placement, fn func()) {
	if where == nil {
		b.Failf("device: expected a placement, got nil")
		return
	}
	b.mark()
	outer := b.scope
	b.scope = &scope{outer, where}
	defer func() {
		b.mark()
		b.scope = outer
	}()
	fn()
}

// mark records the scope of the nodes that were made since the last call.
func (b *Builder) mark() {
	for _, n := range b.Expr().AllNodes() {
		if _, ok := b.placed[n]; !ok {
			b.placed[n] = b.scope
		}
	}
}

// Fetch gives a node's value a name by which sessions fetch it.
func (b *Builder) Fetch(name string, n *G.Node) {
	if b.Failed() {
		return
	}
	if n == nil {
		b.Failf("fetch %q: expected a node, got nil", name)
		return
	}
	b.mark()
	b.outs = append(b.outs, result{name: name, node: n, scope: b.placed[n]})
}

// Train gives an update a name by which sessions run it as a target. The update adds one to the variable global_step. A graph has
// only one update; optimizers.MinimizeEach makes one for several losses.
func (b *Builder) Train(name string, op *optimizers.TrainOp) {
	if b.Failed() {
		return
	}
	if op == nil {
		b.Failf("train %q: expected what Minimize returned, got nil", name)
		return
	}
	if b.train != nil {
		b.Failf("train %q: the graph has the update %q: expected one", name, b.train.name)
		return
	}
	b.mark()
	b.train = &train{name: name, op: op, scope: b.scope}
}

// Build builds a graph with the ops of models/ops. It calls fn for two batch sizes, so that the graph accepts any: dimensions
// of inputs that are Builder.Batch are unknown in the graph. fn must do the same in both calls.
//
// The graph has a placeholder for each input, the variables of the Builder and its optimizers, and what Fetch and
// Train have named.
func Build(o Options, fn func(b *Builder) error) (*Graph, error) {
	first, err := construct(o, trace.FirstBatch, fn)
	if err != nil {
		return nil, fmt.Errorf("build a graph: %w", err)
	}
	second, err := construct(o, trace.SecondBatch, fn)
	if err != nil {
		return nil, fmt.Errorf("build a graph: %w", err)
	}
	if err := trace.Unify(first.tracing, second.tracing); err != nil {
		return nil, fmt.Errorf("build a graph: %w", err)
	}
	g, err := second.assemble()
	if err != nil {
		return nil, fmt.Errorf("build a graph: %w", err)
	}
	return g, nil
}

// construction is a graph at one batch size.
type construction struct {
	*Builder
	tracing *trace.Tracing
	scopes  map[string]*scope // of nodes by name
}

func construct(o Options, batch int, fn func(b *Builder) error) (*construction, error) {
	if o.Mode == "" {
		o.Mode = models.Train
	}
	c := &construction{scopes: map[string]*scope{}}
	_, err := models.Build(models.Options{Mode: o.Mode, Batch: batch, Seed: o.Seed, DType: o.DType}, func(core *models.Builder) error {
		c.Builder = &Builder{Builder: core, placed: map[*G.Node]*scope{}}
		if err := fn(c.Builder); err != nil {
			return err
		}
		c.mark()
		return errors.Join(core.Err(), c.trace(core))
	})
	return c, err
}

// trace translates what was built.
func (c *construction) trace(core *models.Builder) (err error) {
	if c.tracing, err = trace.New(core, nil); err != nil {
		return err
	}
	t := c.tracing
	t.Made = func(from *G.Node, nodes []*graph.Node) {
		for _, n := range nodes {
			c.scopes[n.Name] = c.placed[from]
		}
	}
	for node, out := range t.Leaves {
		handle := out.Node
		if len(handle.Inputs) > 0 { // a read
			handle = handle.Inputs[0].Node
		}
		c.scopes[handle.Name] = c.placed[node]
	}
	for i := range c.outs {
		t.Add(c.outs[i].node, "fetch "+c.outs[i].name, &c.outs[i].out)
	}
	if c.train != nil {
		c.train.effects = t.Effects(core, c.train.op)
	}
	return t.Lower(core)
}
