package session

import (
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// split splits a tensor's name, "node:1" or "node", into the node's name and the output.
func split(name string) (node string, output int, ok bool) {
	node, suffix, colon := strings.Cut(name, ":")
	if !colon {
		return name, 0, name != ""
	}
	k, err := strconv.Atoi(suffix)
	return node, k, err == nil && k >= 0 && node != ""
}

// outputOf returns the output of that name.
func outputOf(g *graph.Graph, name string) (graph.Output, bool) {
	node, k, ok := split(name)
	if !ok {
		return graph.Output{}, false
	}
	n := g.Node(node)
	if n == nil || k >= len(n.Outputs) {
		return graph.Output{}, false
	}
	return n.Out(k), true
}

// origin follows an output back through nodes that pass it on unchanged, as long as stop allows.
func origin(o graph.Output, stop func(graph.Output) bool) graph.Output {
	for range 1 << 16 {
		if stop(o) || o.Index >= len(o.Node.Inputs) {
			return o
		}
		switch o.Node.Op {
		case "Identity", "IdentityN", "StopGradient", "Snapshot", "GuaranteeConst", "PreventGradient":
			o = o.Node.Inputs[o.Index]
		default:
			return o
		}
	}
	return o
}
