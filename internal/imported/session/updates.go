package session

import (
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// updates are the side effects of a function of branches or loops, including those of functions that it calls.
type updates struct {
	asserts bool // it may refuse a run

	any   bool            // it updates something
	args  map[int]bool    // arguments that are updated resources
	names map[string]bool // updated variables that it names itself
}

// updatesOf finds what each function updates. Functions are not recursive.
func updatesOf(inner []function) map[string]*updates {
	byName := map[string]function{}
	for _, f := range inner {
		byName[f.name] = f
	}
	known := map[string]*updates{}
	for _, f := range inner {
		noteUpdates(f, byName, known)
	}
	return known
}

func noteUpdates(f function, byName map[string]function, known map[string]*updates) *updates {
	if u := known[f.name]; u != nil {
		return u
	}
	u := &updates{args: map[int]bool{}, names: map[string]bool{}}
	known[f.name] = u
	mark := func(o graph.Output) {
		switch from := made(o); {
		case from.Node.Op == "VarHandleOp":
			u.names[key(from.Node)] = true
		case slices.Contains(f.args, from.Node.Name):
			u.args[slices.Index(f.args, from.Node.Name)] = true
		}
	}
	for _, n := range f.graph.Nodes() {
		u.asserts = u.asserts || checks(n)
		if writes(n) {
			u.any = true
			for _, in := range n.Inputs {
				mark(in)
			}
		}
		for _, name := range eager.Called(n) {
			callee, ok := byName[name]
			if !ok {
				continue
			}
			below := noteUpdates(callee, byName, known)
			u.any, u.asserts = u.any || below.any, u.asserts || below.asserts
			maps.Copy(u.names, below.names)
			below.resources(n, mark)
		}
	}
	return u
}

// resources calls f for each input of n, a node that calls the function, which the function updates.
func (u *updates) resources(n *graph.Node, f func(o graph.Output)) {
	if !calledBy(n) && len(u.args) > 0 { // elements of a dataset come before captured inputs
		for _, in := range n.Inputs {
			f(in)
		}
		return
	}
	first := 0
	if n.Op != ops.While.Name && n.Op != ops.StatelessWhile.Name { // skip a condition, or the number of a branch
		first = 1
	}
	for at := range u.args {
		if first+at < len(n.Inputs) {
			f(n.Inputs[first+at])
		}
	}
}

// made returns the output that a resource comes from. Loops return resources unchanged.
func made(o graph.Output) graph.Output {
	for range 1 << 16 {
		o = origin(o, func(graph.Output) bool { return false })
		loop := o.Node.Op == ops.While.Name || o.Node.Op == ops.StatelessWhile.Name
		if !loop || o.DType() != tensor.Resource || o.Index >= len(o.Node.Inputs) {
			return o
		}
		o = o.Node.Inputs[o.Index]
	}
	return o
}

// updates reports whether a node updates variables or tables, or calls a function that does.
func (s *Session) updates(n *graph.Node) bool {
	return writes(n) || slices.ContainsFunc(eager.Called(n), func(name string) bool { return s.calls[name] != nil && s.calls[name].any })
}

// checks reports whether a node only checks values, to refuse a run.
func checks(n *graph.Node) bool {
	return n.Op == ops.Assert.Name || n.Op == ops.CheckNumerics.Name || n.Op == ops.CheckNumericsV2.Name
}

// asserts reports whether a node checks values, or calls a function that does: TensorFlow guards assertions by branches.
func (s *Session) asserts(n *graph.Node) bool {
	return checks(n) || slices.ContainsFunc(eager.Called(n), func(name string) bool { return s.calls[name] != nil && s.calls[name].asserts })
}
