package session

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/inline"
)

// function is a function of branches and loops; all its nodes are eager.
type function struct {
	name   string
	graph  *graph.Graph
	args   []string
	result string
}

func readFunctions(callees []*inline.Callee) ([]function, error) {
	all := make([]function, len(callees))
	for i, c := range callees {
		g, err := graphdef.FromGraphDef(c.Graph)
		if err != nil {
			return nil, fmt.Errorf("function %q: %w", c.Name, err)
		}
		all[i] = function{name: c.Name, graph: g, args: c.Args, result: c.Result}
	}
	return all, nil
}

// makeFunctions makes functions, by name. Their random ops have their own states.
func makeFunctions(of []function) (map[string]*eager.Function, error) {
	made := make(map[string]*eager.Function, len(of))
	for _, c := range of {
		f, err := eager.NewFunction(c.graph, c.args, c.result)
		if err != nil {
			return nil, fmt.Errorf("function %q: %w", c.name, err)
		}
		made[c.name] = f
	}
	return made, nil
}

// draws reports whether an op draws random numbers.
func draws(op string) bool {
	d := ops.Find(op)
	return d != nil && d.State == ops.Random
}
