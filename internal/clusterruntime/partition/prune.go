package partition

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// needs is the part of a graph that a request needs.
type needs struct {
	nodes   []*graph.Node // in the order of the graph
	feeds   map[graph.Output]string
	fetches map[string]graph.Output
	kept    map[*graph.Node]bool
}

// prune finds the nodes that a request needs. A fed value needs nothing.
func prune(g *graph.Graph, r Request) (*needs, error) {
	n := &needs{feeds: map[graph.Output]string{}, fetches: map[string]graph.Output{}, kept: map[*graph.Node]bool{}}
	for _, name := range r.Feeds {
		o, err := r.output(g, name, "feed")
		if err != nil {
			return nil, err
		}
		if other, ok := n.feeds[o]; ok {
			return nil, fmt.Errorf("feed %q: the value is fed as %q, too", name, other)
		}
		n.feeds[o] = name
	}
	var queue []*graph.Node
	for _, name := range r.Fetches {
		o, err := r.output(g, name, "fetch")
		if err != nil {
			return nil, err
		}
		n.fetches[name] = o
		if _, fed := n.feeds[o]; !fed {
			queue = append(queue, o.Node)
		}
	}
	for _, name := range r.Targets {
		t := g.Node(name)
		if t == nil {
			return nil, fmt.Errorf("target %q: %w", name, ErrNotFound)
		}
		queue = append(queue, t)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		if at := queue[0]; !n.kept[at] {
			n.kept[at] = true
			queue = append(queue, n.before(at)...)
		}
	}
	for _, node := range g.Nodes() {
		if n.kept[node] {
			n.nodes = append(n.nodes, node)
		}
	}
	return n, nil
}

// before returns the nodes that a node needs directly.
func (n *needs) before(node *graph.Node) (all []*graph.Node) {
	for _, in := range node.Inputs {
		if _, fed := n.feeds[in]; !fed {
			all = append(all, in.Node)
		}
	}
	for _, c := range node.Control {
		if !n.replaced(c) {
			all = append(all, c)
		}
	}
	return all
}

// replaced reports whether a node is a placeholder that is fed, so that it need not run.
func (n *needs) replaced(node *graph.Node) bool {
	if len(node.Outputs) != 1 || len(node.Inputs) > 0 {
		return false
	}
	_, fed := n.feeds[node.Out(0)]
	return fed
}
