package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/format/onnx"
)

// orders has the node orders of graphs and functions, each found once: functions may be called often, and loops are translated on trial.
type orders struct {
	nodes   map[*onnx.Node][]onnx.Node // by the first node in the original order
	outside map[*onnx.Graph][]string   // the names that a graph uses from the graph around it
}

func newOrders() orders {
	return orders{map[*onnx.Node][]onnx.Node{}, map[*onnx.Graph][]string{}}
}

// of returns nodes ordered so that inputs come first, otherwise unchanged. ONNX requires this order; ONNX Runtime does not,
// and its converter to float16 violates it. Nodes in a cycle, and nodes that need them, stay where they are.
func (r orders) of(nodes []onnx.Node) []onnx.Node {
	if len(nodes) == 0 {
		return nil
	}
	found, ok := r.nodes[&nodes[0]]
	if !ok {
		found = r.inOrder(nodes)
		r.nodes[&nodes[0]] = found
	}
	return found
}

func (r orders) inOrder(nodes []onnx.Node) []onnx.Node {
	makers := map[string]int{}
	for i := range nodes {
		for _, o := range nodes[i].Outputs {
			if _, twice := makers[o]; o != "" && !twice {
				makers[o] = i
			}
		}
	}
	needs := make([][]int, len(nodes))
	sorted := true
	for i := range nodes {
		needs[i] = r.needs(&nodes[i], makers)
		sorted = sorted && !slices.ContainsFunc(needs[i], func(from int) bool { return from > i })
	}
	if sorted {
		return nodes
	}
	waits, users := make([]int, len(nodes)), make([][]int, len(nodes))
	for i, all := range needs {
		for _, from := range all {
			if from != i {
				waits[i]++
				users[from] = append(users[from], i)
			}
		}
	}
	out, done := make([]onnx.Node, 0, len(nodes)), make([]bool, len(nodes))
	var ready []int // a stack, so that a node is followed by the users that waited for it
	for i := range nodes {
		if waits[i] == 0 && !done[i] {
			ready = append(ready, i)
		}
		for len(ready) > 0 {
			n := ready[len(ready)-1]
			ready = ready[:len(ready)-1]
			out, done[n] = append(out, nodes[n]), true
			for _, u := range users[n] {
				if waits[u]--; waits[u] == 0 && u < i { // later nodes get their turn anyway
					ready = append(ready, u)
				}
			}
		}
	}
	for i := range nodes {
		if !done[i] {
			out = append(out, nodes[i])
		}
	}
	return out
}

// needs returns the nodes that make a node's inputs, including inputs of its subgraphs, each once.
func (r orders) needs(n *onnx.Node, makers map[string]int) (found []int) {
	add := func(names []string) {
		for _, name := range names {
			if from, ok := makers[name]; ok {
				found = append(found, from)
			}
		}
	}
	add(n.Inputs)
	for _, a := range n.Attrs {
		if g, ok := a.(*onnx.Graph); ok {
			add(r.outer(g))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// outer returns the names that a graph uses from the graph around it, each once.
func (r orders) outer(g *onnx.Graph) []string {
	if found, ok := r.outside[g]; ok {
		return found
	}
	seen := map[string]bool{} // its own names, and names already found
	for _, v := range g.Inputs {
		seen[v.Name] = true
	}
	for _, v := range g.Initializers {
		seen[v.Name] = true
	}
	for i := range g.Nodes {
		for _, o := range g.Nodes[i].Outputs {
			seen[o] = true
		}
	}
	var found []string
	add := func(names ...string) {
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				found = append(found, name)
			}
		}
	}
	for i := range g.Nodes {
		add(g.Nodes[i].Inputs...)
		for _, a := range g.Nodes[i].Attrs {
			if inner, ok := a.(*onnx.Graph); ok {
				add(r.outer(inner)...)
			}
		}
	}
	for _, o := range g.Outputs {
		add(o.Name)
	}
	r.outside[g] = found
	return found
}
