package engine

import (
	"errors"
	"fmt"
	"hash/maphash"
	"reflect"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// collector turns the nodes that fetches and targets need into ops, inputs first, equal ones merged.
type collector struct {
	index  map[*graph.Node]int
	feeds  map[graph.Output]*op
	byNode map[*graph.Node]*op
	open   map[*graph.Node]bool // on the path from the root; meeting one again means a cycle
	equal  map[string][]*op
	shapes map[string]*op // stand-ins for operands of which only the type is used
	seed   maphash.Seed
	ops    []*op
	errs   []error
}

// collect prunes the graph, merges equal nodes and resolves inputs. It sets the feeds and fetches of the plan.
func collect(g *graph.Graph, spec Spec, p *plan) ([]*op, error) {
	c := &collector{index: map[*graph.Node]int{}, feeds: map[graph.Output]*op{}, byNode: map[*graph.Node]*op{},
		open: map[*graph.Node]bool{}, equal: map[string][]*op{}, shapes: map[string]*op{}, seed: maphash.MakeSeed()}
	for i, n := range g.Nodes() {
		c.index[n] = i
	}
	for i, f := range spec.Feeds {
		if err := c.addFeed(i, f); err != nil {
			return nil, err
		}
		p.feeds = append(p.feeds, &feed{op: c.feeds[f], name: f.String(), typ: f.Type()})
	}
	for i, f := range spec.Fetches {
		if !f.Valid() || f.Index >= len(f.Node.Outputs) {
			return nil, fmt.Errorf("fetch %d names no output", i)
		}
		if f.DType() == tensor.Resource {
			return nil, fmt.Errorf("fetch %d, %v, is a resource: fetch a ReadVariableOp of it", i, f)
		}
		p.fetched = append(p.fetched, c.port(f))
	}
	for _, n := range spec.Targets {
		c.visit(n)
	}
	if err := errors.Join(c.errs...); err != nil {
		return nil, err
	}
	return c.ops, nil
}

func (c *collector) addFeed(i int, f graph.Output) error {
	if !f.Valid() || f.Index >= len(f.Node.Outputs) {
		return fmt.Errorf("feed %d names no output", i)
	}
	if c.feeds[f] != nil {
		return fmt.Errorf("feed %d, %v, is named twice", i, f)
	}
	n := &graph.Node{Name: f.Node.Name, Op: "Placeholder", Outputs: []graph.Type{f.Type()}}
	if err := checkOp(n); err != nil {
		return err
	}
	o := &op{node: n, index: c.index[f.Node], feed: i, def: registry()["Placeholder"]}
	c.feeds[f] = o
	c.ops = append(c.ops, o)
	return nil
}

// port returns the port that computes an output.
func (c *collector) port(o graph.Output) port {
	if f := c.feeds[o]; f != nil {
		return port{f, 0}
	}
	return port{c.visit(o.Node), o.Index}
}

// isFed reports whether all outputs of a node are fed, so that it need not run.
func (c *collector) isFed(n *graph.Node) bool {
	for i := range n.Outputs {
		if c.feeds[graph.Output{Node: n, Index: i}] == nil {
			return false
		}
	}
	return len(n.Outputs) > 0
}

// visit returns the op of a node, made on first sight. After an error it still returns an op, so that the walk finds
// all errors.
func (c *collector) visit(n *graph.Node) *op {
	if o := c.byNode[n]; o != nil {
		return o
	}
	o := &op{node: n, index: c.index[n], feed: -1}
	if c.open[n] {
		c.errs = append(c.errs, fmt.Errorf("node %s depends on itself: %w", n.Name, ErrCycle))
		return o
	}
	c.open[n] = true
	defer delete(c.open, n)
	o.def = c.define(n)
	for i, in := range n.Inputs {
		if !in.Valid() || in.Index >= len(in.Node.Outputs) {
			c.errs = append(c.errs, fmt.Errorf("node %s: input %v does not exist", n.Name, in))
			continue
		}
		if o.def.shape || slices.Contains(o.def.unread, i) {
			o.in = append(o.in, c.shapeOf(in))
			continue
		}
		o.in = append(o.in, c.port(in))
	}
	for _, before := range n.Control {
		if c.isFed(before) {
			continue // nothing to wait for
		}
		o.after = append(o.after, c.visit(before))
	}
	o = c.merge(o)
	c.byNode[n] = o
	return o
}

// shapeOf returns a port with the type of an output and no elements, so that the op of the output need not run. Equal
// types give the same port.
func (c *collector) shapeOf(in graph.Output) port {
	t := in.Type()
	if t.DType != tensor.Resource && !t.Shape.Known() {
		c.errs = append(c.errs, &UnsupportedOpError{Op: in.Node.Op, Node: in.Node.Name, Reason: fmt.Sprintf("output %d: shape %v must be known but for the batch size", in.Index, t.Shape)})
	}
	key := fmt.Sprint(t.DType, t.Shape)
	if c.shapes[key] == nil {
		n := &graph.Node{Name: "shape of " + key, Op: "Placeholder", Outputs: []graph.Type{t}}
		c.shapes[key] = &op{node: n, feed: -1, def: registry()["Placeholder"], phantom: true}
		c.ops = append(c.ops, c.shapes[key])
	}
	return port{c.shapes[key], 0}
}

func (c *collector) define(n *graph.Node) *opDef {
	var err error
	if n.Op == "Placeholder" {
		err = fmt.Errorf("node %s: %w: name it in the feeds", n.Name, ErrNotFed)
	} else {
		err = checkOp(n)
	}
	if err != nil {
		c.errs = append(c.errs, err)
		return &opDef{effect: true}
	}
	return registry()[n.Op]
}

// merge returns an earlier op that computes the same as o, or o itself, recorded.
func (c *collector) merge(o *op) *op {
	if o.def.effect || o.def.writes {
		c.ops = append(c.ops, o)
		return o
	}
	key := c.key(o)
	for _, e := range c.equal[key] {
		if sameOp(e, o) {
			return e
		}
	}
	c.equal[key] = append(c.equal[key], o)
	c.ops = append(c.ops, o)
	return o
}

// key is equal for equal ops; sameOp checks the reverse.
func (c *collector) key(o *op) string {
	h := uint64(0)
	if t, ok := o.node.Attrs["value"].(*tensor.Tensor); ok {
		h = maphash.Bytes(c.seed, t.Bytes)
	}
	k := fmt.Sprintf("%s %x %s", o.node.Op, h, o.node.Str("shared_name"))
	for _, in := range o.in {
		k += fmt.Sprintf(" %p:%d", in.op, in.idx)
	}
	return k
}

// sameOp compares op, inputs, control inputs, types and attributes.
func sameOp(a, b *op) bool {
	if a.node.Op != b.node.Op || len(a.in) != len(b.in) || len(a.after) != len(b.after) || len(a.node.Outputs) != len(b.node.Outputs) {
		return false
	}
	for i := range a.in {
		if a.in[i] != b.in[i] {
			return false
		}
	}
	for i := range a.after {
		if a.after[i] != b.after[i] {
			return false
		}
	}
	for i, t := range a.node.Outputs {
		if t.DType != b.node.Outputs[i].DType || !t.Shape.Equal(b.node.Outputs[i].Shape) {
			return false
		}
	}
	return a.node.Device == b.node.Device && (len(a.node.Attrs) == 0 && len(b.node.Attrs) == 0 || reflect.DeepEqual(a.node.Attrs, b.node.Attrs))
}
