package worker

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/clusterruntime/dataflow"
	"github.com/goestimator/goestimator/internal/clusterruntime/regions"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
)

// registered is a prepared graph.
type registered struct {
	session   string
	payer     eager.Payer
	program   *dataflow.Program
	graph     *graph.Graph               // the program's graph, without regions
	bytes     int64                      // of its GraphDef
	functions map[string]*eager.Function // functions that its branches and loops call
	regions   *regions.Regions           // of program
	meets     bool                       // it exchanges tensors with tasks other than its caller

	users int  // runs
	gone  bool // no longer registered: the last user closes the regions
}

// prepare prepares a graph for running. Its random ops continue from the states in random.
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
	r.graph, r.meets = g, slices.ContainsFunc(g.Nodes(), meets)
	if g, r.regions, err = regions.Fuse(g, dataflow.Waits); err != nil {
		return nil, err
	}
	if r.program, err = dataflow.Compile(g, random); err != nil {
		return nil, errors.Join(err, r.regions.Close())
	}
	return r, nil
}

// begin returns a registered graph for a run, and a function to call after the run.
func (w *Worker) begin(handle string) (*registered, func(), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.graphs[handle]
	if p == nil {
		return nil, nil, noGraph(handle)
	}
	return p, w.keep(p), nil
}

// drop removes a registered graph. The mutex is held.
func (w *Worker) drop(handle string, p *registered) {
	p.gone = true
	w.letGo(p.payer, p.bytes)
	delete(w.graphs, handle)
	w.leave(p.session)
	if p.users == 0 {
		_ = p.regions.Close() // host memory: an error does not matter
	}
}

// keep holds a graph for a run, which calls the returned function at its end. The mutex is held.
func (w *Worker) keep(p *registered) (release func()) {
	p.users++
	return func() {
		w.mu.Lock()
		p.users--
		unused := p.gone && p.users == 0
		w.mu.Unlock()
		if unused {
			_ = p.regions.Close() // host memory: an error does not matter
		}
	}
}

// meets reports whether a node sends to another device, or receives from one.
func meets(n *graph.Node) bool {
	switch n.Op {
	case "_Send", "_HostSend", "_Recv", "_HostRecv":
		return !n.Bool("client_terminated")
	}
	return false
}
