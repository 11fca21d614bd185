package graph

import (
	"maps"
	"slices"
)

// Clone returns a copy of g whose nodes, in the same order, may be changed
// without changing g's. Attribute values that are lists or tensors are shared.
func Clone(g *Graph) *Graph { return extract(g, func(*Node) bool { return true }) }

// Prune returns a copy of the part of g that the given nodes need through their
// inputs and control edges, in g's order. The result keeps the function library and versions.
func Prune(g *Graph, keep ...*Node) *Graph {
	needed := Reachable(keep...)
	return extract(g, func(n *Node) bool { return needed[n] })
}

// Reachable returns the given nodes and all that they need through their inputs and control edges.
func Reachable(from ...*Node) map[*Node]bool {
	seen := map[*Node]bool{}
	stack := slices.Clone(from)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if n == nil || seen[n] {
			continue
		}
		seen[n] = true
		for _, in := range n.Inputs {
			stack = append(stack, in.Node)
		}
		stack = append(stack, n.Control...)
	}
	return seen
}

// extract copies the nodes that keep accepts; keep must also accept all nodes that they need.
func extract(g *Graph, keep func(*Node) bool) *Graph {
	out := New()
	out.Extra = slices.Clone(g.Extra)
	out.Library, out.Producer, out.MinConsumer = slices.Clone(g.Library), g.Producer, g.MinConsumer
	copies := make(map[*Node]*Node, len(g.nodes))
	for _, n := range g.nodes {
		if keep(n) {
			copies[n] = &Node{Name: n.Name, Op: n.Op, Device: n.Device, Attrs: maps.Clone(n.Attrs), Outputs: slices.Clone(n.Outputs)}
		}
	}
	for _, n := range g.nodes {
		c := copies[n]
		if c == nil {
			continue
		}
		for _, in := range n.Inputs {
			c.Inputs = append(c.Inputs, Output{copies[in.Node], in.Index})
		}
		for _, d := range n.Control {
			c.Control = append(c.Control, copies[d])
		}
		out.nodes = append(out.nodes, c)
		out.byName[c.Name] = c
	}
	return out
}
