package onnxgraph

import "github.com/goestimator/goestimator/internal/format/onnx"

// inOrder are nodes such that each comes after those that make its inputs, and else as they are. ONNX asks for that order; ONNX Runtime does
// not, and its converter to float16 writes others. Where nodes need each other in a circle, or something that nobody makes, those are left as
// they are.
func inOrder(nodes []onnx.Node) []onnx.Node {
	makers := map[string]int{}
	for i := range nodes {
		for _, o := range nodes[i].Outputs {
			if _, twice := makers[o]; o != "" && !twice {
				makers[o] = i
			}
		}
	}
	if sorted(nodes, makers) {
		return nodes
	}
	waits, users := make([]int, len(nodes)), make([][]int, len(nodes))
	for i := range nodes {
		for from := range needs(&nodes[i], makers) {
			if from != i {
				waits[i]++
				users[from] = append(users[from], i)
			}
		}
	}
	out, done := make([]onnx.Node, 0, len(nodes)), make([]bool, len(nodes))
	var ready []int // a stack, so that what was waited for is followed by its users
	for i := range nodes {
		if waits[i] == 0 && !done[i] {
			ready = append(ready, i)
		}
		for len(ready) > 0 {
			n := ready[len(ready)-1]
			ready = ready[:len(ready)-1]
			out, done[n] = append(out, nodes[n]), true
			for _, u := range users[n] {
				if waits[u]--; waits[u] == 0 && u < i { // a later one has its turn
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

// sorted reports whether each node comes after those that make its inputs.
func sorted(nodes []onnx.Node, makers map[string]int) bool {
	for i := range nodes {
		for from := range needs(&nodes[i], makers) {
			if from > i {
				return false
			}
		}
	}
	return true
}

// needs are the nodes that make what a node takes, also inside the graphs that it has.
func needs(n *onnx.Node, makers map[string]int) map[int]bool {
	found := map[int]bool{}
	add := func(name string) {
		if from, ok := makers[name]; ok {
			found[from] = true
		}
	}
	for _, in := range n.Inputs {
		add(in)
	}
	for _, a := range n.Attrs {
		if g, ok := a.(*onnx.Graph); ok {
			outside(g, add)
		}
	}
	return found
}

// outside calls f for the names that a graph takes from the one around it.
func outside(g *onnx.Graph, f func(name string)) {
	own := map[string]bool{}
	for _, v := range g.Inputs {
		own[v.Name] = true
	}
	for _, v := range g.Initializers {
		own[v.Name] = true
	}
	for i := range g.Nodes {
		for _, o := range g.Nodes[i].Outputs {
			own[o] = true
		}
	}
	add := func(name string) {
		if !own[name] {
			f(name)
		}
	}
	for i := range g.Nodes {
		for _, in := range g.Nodes[i].Inputs {
			add(in)
		}
		for _, a := range g.Nodes[i].Attrs {
			if inner, ok := a.(*onnx.Graph); ok {
				outside(inner, add)
			}
		}
	}
	for _, o := range g.Outputs {
		add(o.Name)
	}
}
