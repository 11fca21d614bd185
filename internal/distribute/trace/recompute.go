package trace

import (
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// blocks has the ops that are recomputed for gradients (ADR 42), with the numbers of their blocks.
type blocks struct {
	ops   map[string]int // by the name of the model's op
	nodes map[string]int // by the name of the node that it became
}

// recomputed is an attribute of copies. Without it they would be merged with the originals.
const recomputed = "_recomputed"

// add records the nodes that an op became.
func (b blocks) add(op string, nodes []*graph.Node) {
	if block := b.ops[op]; block > 0 {
		for _, n := range nodes {
			b.nodes[n.Name] = block
		}
	}
}

// recompute returns g with copies of the blocks' values, which only gradients read. In the order of its nodes, a block's
// copies come right before its gradients, which are complete before another block is copied. It changes g.
func (b blocks) recompute(g *graph.Graph) (*graph.Graph, error) {
	if len(b.nodes) == 0 {
		return g, nil
	}
	c := copier{graph: g, blocks: b, kept: map[graph.Output]bool{}, copies: map[*graph.Node]*graph.Node{}, blockOf: map[*graph.Node]int{}}
	c.keep()
	for _, n := range g.Nodes() {
		if !isGradient(n) {
			continue
		}
		for i, in := range n.Inputs {
			if c.again(in, b.nodes[in.Node.Name]) {
				n.Inputs[i].Node = c.copy(in.Node)
			}
		}
	}
	return c.ordered()
}

// isGradient reports whether the differentiation of a model made a node.
func isGradient(n *graph.Node) bool {
	return strings.HasPrefix(n.Name, "gradients/") || strings.Contains(n.Name, "/gradients/")
}

// gradientOf returns the name of the op that a gradient's node belongs to, "" for none.
func gradientOf(n *graph.Node) string {
	_, rest, _ := strings.Cut("/"+n.Name, "/gradients/")
	op, _, found := strings.Cut(rest, "_grad/")
	if !found {
		op = strings.TrimSuffix(rest, "_grad")
	}
	return op
}

// copier copies blocks.
type copier struct {
	graph   *graph.Graph
	blocks  blocks
	kept    map[graph.Output]bool       // outputs of blocks
	copies  map[*graph.Node]*graph.Node // copies by original
	blockOf map[*graph.Node]int         // of copies
}

// keep finds the values of blocks that nodes outside, except gradients, read.
func (c *copier) keep() {
	for _, n := range c.graph.Nodes() {
		if isGradient(n) {
			continue
		}
		for _, in := range n.Inputs {
			if c.blocks.nodes[in.Node.Name] != c.blocks.nodes[n.Name] {
				c.kept[in] = true
			}
		}
	}
}

// again reports whether an output is a value of a block that is recomputed.
func (c *copier) again(o graph.Output, block int) bool {
	n := o.Node
	if block == 0 || c.blocks.nodes[n.Name] != block || c.kept[o] || n.Op == "Const" {
		return false
	}
	if len(n.Inputs) > 0 && n.Inputs[0].Node.Op == "ReadVariableOp" && n.Op == "GatherV2" {
		return false // rows of a table, which may be on another task
	}
	d := ops.Find(n.Op)
	return d != nil && (d.State == ops.Pure || d.State == ops.Random)
}

// copy returns the copy of a node. The copy reads copies of what its block recomputes.
func (c *copier) copy(n *graph.Node) *graph.Node {
	if y := c.copies[n]; y != nil {
		return y
	}
	block := c.blocks.nodes[n.Name]
	y := &graph.Node{Name: c.graph.UniqueName(n.Name + "/recomputed"), Op: n.Op, Device: n.Device, Control: n.Control, Inputs: slices.Clone(n.Inputs),
		Outputs: n.Outputs, Attrs: maps.Clone(n.Attrs)}
	if y.Attrs == nil {
		y.Attrs = graph.Attrs{}
	}
	y.Attrs[recomputed] = true
	for i, in := range y.Inputs {
		if c.again(in, block) {
			y.Inputs[i].Node = c.copy(in.Node)
		}
	}
	c.copies[n], c.blockOf[y] = y, block
	return y
}

// ordered returns the graph of all nodes and copies.
func (c *copier) ordered() (*graph.Graph, error) {
	o := ordering{graph: graph.New(), blockOf: c.blockOf, gradients: map[int][]*graph.Node{}, done: map[*graph.Node]bool{}, open: map[*graph.Node]bool{}}
	for _, n := range c.graph.Nodes() {
		if !isGradient(n) {
			continue
		}
		if block := c.blocks.ops[gradientOf(n)]; block > 0 {
			o.gradients[block] = append(o.gradients[block], n)
		}
	}
	for _, n := range c.graph.Nodes() {
		o.add(n)
	}
	return o.graph, o.err
}

// ordering adds nodes to a graph, each after the nodes that it needs.
type ordering struct {
	graph     *graph.Graph
	blockOf   map[*graph.Node]int
	gradients map[int][]*graph.Node // gradients of the blocks' ops
	begun     []int                 // blocks that are being recomputed
	done      map[*graph.Node]bool
	open      map[*graph.Node]bool // nodes about to be added
	err       error
}

func (o *ordering) add(n *graph.Node) {
	if o.done[n] || o.open[n] {
		return
	}
	o.open[n] = true
	if block := o.blockOf[n]; block > 0 && !slices.Contains(o.begun, block) {
		before := o.begun
		o.begun = append(slices.Clone(o.begun), block)
		for _, other := range before {
			o.finish(other)
		}
	}
	for _, in := range n.Inputs {
		o.add(in.Node)
	}
	for _, d := range n.Control {
		o.add(d)
	}
	delete(o.open, n)
	o.done[n] = true
	if err := o.graph.Add(n); err != nil && o.err == nil {
		o.err = err
	}
}

// finish adds the gradients of a block that do not need nodes about to be added.
func (o *ordering) finish(block int) {
	for _, n := range o.gradients[block] {
		if !o.done[n] && !o.waits(n, map[*graph.Node]bool{}) {
			o.add(n)
		}
	}
}

// waits reports whether a node needs a node about to be added.
func (o *ordering) waits(n *graph.Node, seen map[*graph.Node]bool) bool {
	if o.open[n] {
		return true
	}
	if o.done[n] || seen[n] {
		return false
	}
	seen[n] = true
	for _, in := range n.Inputs {
		if o.waits(in.Node, seen) {
			return true
		}
	}
	return slices.ContainsFunc(n.Control, func(d *graph.Node) bool { return o.waits(d, seen) })
}
