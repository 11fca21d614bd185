package worker

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/dataflow"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
)

// registered is a graph that is ready to run.
type registered struct {
	session   string
	payer     eager.Payer
	program   *dataflow.Program
	bytes     int64                      // of its GraphDef
	functions map[string]*eager.Function // what its branches and loops call
}

// prepare makes a graph ready to run. Its random ops go on from the states.
func prepare(def *graph_go_proto.GraphDef, random *eager.Generators) (*registered, error) {
	callees, err := inline.Callees(def)
	if err != nil {
		return nil, err
	}
	r := &registered{functions: make(map[string]*eager.Function, len(callees))}
	for _, c := range callees {
		g, err := graphdef.FromGraphDef(c.Graph)
		if err != nil {
			return nil, fmt.Errorf("function %q: %w", c.Name, err)
		}
		if r.functions[c.Name], err = eager.NewFunction(g, c.Args, c.Result); err != nil {
			return nil, fmt.Errorf("function %q: %w", c.Name, err)
		}
	}
	g, err := graphdef.FromGraphDef(def)
	if err != nil {
		return nil, err
	}
	r.program, err = dataflow.Compile(g, random)
	return r, err
}
