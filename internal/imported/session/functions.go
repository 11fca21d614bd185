package session

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/inline"
)

// functions makes what branches and loops call, with eager nodes alone, and returns these nodes. It names all unsupported ops.
// Functions do not update variables: which run does has to be known before it begins.
func functions(callees []*inline.Callee) (map[string]*eager.Function, []*graph.Node, error) {
	unsupported := map[string][]string{}
	graphs := make([]*graph.Graph, len(callees))
	var nodes []*graph.Node
	for i, c := range callees {
		g, err := graphdef.FromGraphDef(c.Graph)
		if err != nil {
			return nil, nil, fmt.Errorf("function %q: %w", c.Name, err)
		}
		graphs[i] = g
		for _, n := range g.Nodes() {
			if !serves(n.Op) || writes(n) {
				unsupported[n.Op] = append(unsupported[n.Op], n.Name+" of function "+c.Name)
			}
			nodes = append(nodes, n)
		}
	}
	if len(unsupported) > 0 {
		return nil, nil, &UnsupportedError{Ops: unsupported}
	}
	made := make(map[string]*eager.Function, len(callees))
	for i, c := range callees {
		f, err := eager.NewFunction(graphs[i], c.Args, c.Result)
		if err != nil {
			return nil, nil, fmt.Errorf("function %q: %w", c.Name, err)
		}
		made[c.Name] = f
	}
	return made, nodes, nil
}
