package export

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// train joins the train op into one node.
func (a *assembly) train() {
	if len(a.trainOp) == 0 || a.Err() != nil {
		return
	}
	a.order(a.trainOp, a.roots())
	op := a.Node("NoOp", "train_op", nil, nil)
	op.Control = a.trainOp
	a.trainOp = []*graph.Node{op}
}

// order adds edges for the order that the engine keeps without them: reads before updates. Roots are the
// train op and what is fetched with it.
func (e emitter) order(trainOp, roots []*graph.Node) {
	updates := e.updates(trainOp)
	for _, n := range updates {
		e.rowsOnce(n)
	}
	e.readFirst(updates, roots)
}

// updates returns the nodes of the train op that change variables.
func (e emitter) updates(trainOp []*graph.Node) []*graph.Node {
	needed := graph.Reachable(trainOp...)
	var out []*graph.Node
	for _, n := range e.Graph.Nodes() {
		if needed[n] && len(n.Outputs) == 0 && len(handles(n)) > 0 {
			out = append(out, n)
		}
	}
	return out
}

// handles returns the variables that a node takes.
func handles(n *graph.Node) []*graph.Node {
	var out []*graph.Node
	for _, in := range n.Inputs {
		if in.Node.Op == "VarHandleOp" {
			out = append(out, in.Node)
		}
	}
	return out
}

// readFirst puts each read of a variable before all updates that it does not depend on.
func (e emitter) readFirst(updates, roots []*graph.Node) {
	needed := graph.Reachable(roots...)
	reads := map[*graph.Node][]*graph.Node{}
	for _, n := range e.Graph.Nodes() {
		if needed[n] && len(n.Outputs) > 0 {
			for _, h := range handles(n) {
				reads[h] = append(reads[h], n)
			}
		}
	}
	before := map[*graph.Node]map[*graph.Node]bool{} // what reads with further inputs depend on
	for _, list := range reads {
		for _, r := range list {
			if len(r.Control) > 0 || len(r.Inputs) > 1 {
				before[r] = graph.Reachable(r)
			}
		}
	}
	for _, u := range updates {
		for _, h := range handles(u) {
			for _, r := range reads[h] {
				if !before[r][u] && !slices.Contains(u.Control, r) && !takes(u, r) {
					u.Control = append(u.Control, r)
				}
			}
		}
	}
}

// takes reports whether n is an operand of u.
func takes(u, n *graph.Node) bool {
	return slices.ContainsFunc(u.Inputs, func(o graph.Output) bool { return o.Node == n })
}

// rowsOnce gives a sparse update each row once, and no negative indices: TensorFlow
// applies a rule to equal indices one after another, and refuses negative ones.
func (e emitter) rowsOnce(n *graph.Node) {
	op := ops.Find(n.Op)
	if op == nil {
		return
	}
	at, ok := op.Update()
	if !ok || at.Indices < 0 {
		return
	}
	n.Inputs = slices.Clone(n.Inputs)
	n.Inputs[at.Gradient], n.Inputs[at.Indices] = e.once(n.Name+"/once", n.Inputs[at.Gradient], n.Inputs[at.Indices])
}
