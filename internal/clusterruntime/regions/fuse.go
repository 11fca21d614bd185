package regions

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
)

const (
	// Op is the op of a node that replaces a region.
	Op = "_Region"
	// Kernel is the attribute of such a node that holds its eager.Kernel.
	Kernel = "kernel"
)

// Regions are the regions of a graph.
type Regions struct {
	all []*region
}

// Fuse replaces numeric nodes of a graph by regions. The result has the graph's other nodes, with new inputs. waiting reports
// which nodes may wait for other tasks or steps. The regions must be closed when they are no longer used.
func Fuse(g *graph.Graph, waiting func(*graph.Node) bool) (*graph.Graph, *Regions, error) {
	f := &fuser{g: g, at: map[*graph.Node]*region{}, outputs: map[graph.Output]graph.Output{}}
	for _, nodes := range group(g.Nodes(), waiting) {
		r := &region{nodes: nodes}
		f.all = append(f.all, r)
		for _, n := range nodes {
			f.at[n] = r
		}
	}
	if len(f.all) == 0 {
		return g, &Regions{}, nil
	}
	f.leave()
	for i, r := range f.all {
		if err := f.build(r, i); err != nil {
			return nil, nil, err
		}
	}
	out, err := f.contract()
	return out, &Regions{f.all}, err
}

// Len is the number of regions.
func (s *Regions) Len() int { return len(s.all) }

// Close frees the programs.
func (s *Regions) Close() error {
	var first error
	for _, r := range s.all {
		if err := r.close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// fuser replaces nodes by regions.
type fuser struct {
	g       *graph.Graph
	all     []*region
	at      map[*graph.Node]*region
	outputs map[graph.Output]graph.Output // outputs of regions that other nodes read, with the outputs of the regions' nodes that replace them
}

// leave finds the outputs of regions that other nodes read.
func (f *fuser) leave() {
	for _, n := range f.g.Nodes() {
		for _, in := range n.Inputs {
			r := f.at[in.Node]
			if r == nil || r == f.at[n] {
				continue
			}
			if _, ok := f.outputs[in]; !ok {
				f.outputs[in] = graph.Output{Index: len(r.fetches)}
				r.fetches = append(r.fetches, in)
			}
		}
	}
}

// build makes the node that replaces a region.
func (f *fuser) build(r *region, number int) error {
	r.node = &graph.Node{Name: f.g.UniqueName(fmt.Sprint("region_", number)), Op: Op, Device: r.nodes[0].Device}
	for i, o := range r.fetches {
		r.node.Outputs = append(r.node.Outputs, o.Type())
		f.outputs[o] = graph.Output{Node: r.node, Index: i}
	}
	before := map[*graph.Node]bool{}
	entered := map[graph.Output]bool{}
	for _, n := range r.nodes {
		for _, in := range n.Inputs {
			if f.at[in.Node] != r && !constant(in.Node) && !entered[in] {
				entered[in] = true
				r.feeds = append(r.feeds, in)
			}
		}
		for _, c := range n.Control {
			if f.at[c] != r && !before[c] {
				before[c] = true
				r.node.Control = append(r.node.Control, c)
			}
		}
	}
	r.node.Inputs = r.feeds
	r.node.Attrs = graph.Attrs{Kernel: eager.Kernel(r.run)}
	return r.prepare()
}

// contract returns the graph with regions replaced by their nodes.
func (f *fuser) contract() (*graph.Graph, error) {
	out := graph.New()
	out.Library, out.Producer, out.MinConsumer = f.g.Library, f.g.Producer, f.g.MinConsumer
	for _, r := range f.all {
		f.redirect(r.node)
		if err := out.Add(r.node); err != nil {
			return nil, err
		}
	}
	for _, n := range f.g.Nodes() {
		if f.at[n] != nil {
			continue
		}
		f.redirect(n)
		if err := out.Add(n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// redirect makes a node read from regions instead of their nodes.
func (f *fuser) redirect(n *graph.Node) {
	inputs := make([]graph.Output, len(n.Inputs))
	for i, in := range n.Inputs {
		inputs[i] = in
		if o, ok := f.outputs[in]; ok {
			inputs[i] = o
		}
	}
	n.Inputs = inputs
	var control []*graph.Node
	seen := map[*graph.Node]bool{}
	for _, c := range n.Control {
		if r := f.at[c]; r != nil {
			c = r.node
		}
		if !seen[c] {
			seen[c] = true
			control = append(control, c)
		}
	}
	n.Control = control
}

// constant reports whether a node is a constant that a region may copy.
func constant(n *graph.Node) bool { return n.Op == "Const" && len(n.Control) == 0 }
