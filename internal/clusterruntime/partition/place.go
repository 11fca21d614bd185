package partition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// group is a set of nodes that share a device: a tree of union-find.
type group struct {
	parent *group
	spec   device.Name
	first  *graph.Node // the node with the spec, for messages
}

func (g *group) root() *group {
	for g.parent != nil {
		if g.parent.parent != nil {
			g.parent = g.parent.parent
		}
		g = g.parent
	}
	return g
}

// placer finds the devices of nodes.
type placer struct {
	c      Cluster
	groups map[*graph.Node]*group
}

// place gives each of the nodes a device. As in TensorFlow, colocation depends on the whole graph, so that a variable has
// the same place in all steps. Errors in other nodes are ignored.
func place(g *graph.Graph, nodes []*graph.Node, c Cluster) (map[*graph.Node]Device, error) {
	p := &placer{c, make(map[*graph.Node]*group, len(g.Nodes()))}
	needed := make(map[*graph.Node]bool, len(nodes))
	for _, n := range nodes {
		needed[n] = true
	}
	for _, n := range g.Nodes() {
		spec, err := device.Parse(n.Device)
		if err != nil && needed[n] {
			return nil, fmt.Errorf("node %q: %w", n.Name, err)
		}
		p.groups[n] = &group{spec: spec, first: n}
	}
	for _, n := range g.Nodes() {
		for _, with := range named(g, n) {
			if err := p.join(n, with); err != nil && needed[n] {
				return nil, err
			}
		}
		for _, with := range handles(n) {
			p.follow(n, with)
			if err := p.join(n, with); err != nil && needed[n] {
				return nil, err
			}
		}
	}
	at := make(map[*graph.Node]Device, len(nodes))
	for _, n := range nodes {
		d, err := p.choose(n)
		if err != nil {
			return nil, err
		}
		at[n] = d
	}
	return at, nil
}

// named returns the nodes with which n asks to be colocated.
func named(g *graph.Graph, n *graph.Node) (with []*graph.Node) {
	names, _ := n.Attrs["_class"].([][]byte)
	for _, class := range names {
		if name, ok := strings.CutPrefix(string(class), "loc:@"); ok && g.Node(name) != nil {
			with = append(with, g.Node(name))
		}
	}
	return with
}

// handles returns the nodes whose variables or resources n uses.
func handles(n *graph.Node) (with []*graph.Node) {
	def := ops.Find(n.Op)
	for i, in := range n.Inputs {
		d := in.DType()
		if d == tensor.Resource || d == tensor.Variant || def != nil && def.InputAt(i, len(n.Inputs)).Ref {
			with = append(with, in.Node)
		}
	}
	return with
}

// follow makes a node that is not on the device of its resource give up its own: a resource stays where it is made.
func (p *placer) follow(n, with *graph.Node) {
	a, b := p.groups[n].root(), p.groups[with].root()
	if !a.spec.Matches(b.spec.Merge(a.spec)) {
		a.spec = b.spec
	}
}

// join makes two nodes share a device.
func (p *placer) join(n, with *graph.Node) error {
	a, b := p.groups[n].root(), p.groups[with].root()
	if a == b {
		return nil
	}
	merged := b.spec.Merge(a.spec)
	if !a.spec.Matches(merged) {
		if !p.c.Soft || merged.Job != a.spec.Job || merged.Task != a.spec.Task {
			return fmt.Errorf("%w: node %q is colocated with %q, but their devices are %q and %q", ErrPlacement, n.Name, with.Name, a.spec, b.spec)
		}
	}
	a.parent, b.spec = b, merged
	return nil
}

// choose returns the first device that fits, preferably of the client's task.
func (p *placer) choose(n *graph.Node) (Device, error) {
	spec := p.groups[n].root().spec
	if d, ok := p.first(spec); ok {
		return d, nil
	}
	if p.c.Soft {
		if d, ok := p.first(device.Name{Job: spec.Job, Replica: spec.Replica, Task: spec.Task, ID: device.Any}); ok {
			return d, nil
		}
	}
	var names []string
	for _, d := range p.c.Devices {
		names = append(names, d.Name.String())
	}
	return Device{}, &NoDeviceError{Node: n.Name, Device: spec, Available: names}
}

func (p *placer) first(spec device.Name) (Device, bool) {
	if spec.Matches(p.c.Client.Name) {
		return p.c.Client, true
	}
	var fits []Device
	for _, d := range p.c.Devices {
		if spec.Matches(d.Name) {
			fits = append(fits, d)
		}
	}
	if len(fits) == 0 {
		return Device{}, false
	}
	return slices.MinFunc(fits, func(a, b Device) int { return p.rank(a) - p.rank(b) }), true
}

// rank orders devices: the client's task's come first, the others as they are listed.
func (p *placer) rank(d Device) int {
	if d.Name.Job == p.c.Client.Name.Job && d.Name.Task == p.c.Client.Name.Task {
		return 0
	}
	return 1
}
