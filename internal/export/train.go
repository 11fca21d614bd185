package export

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// train makes one node of the train op, and of the order that the engine keeps by
// itself, reads before updates, edges that TensorFlow keeps.
func (a *assembly) train() {
	if len(a.trainOp) == 0 || a.Err() != nil {
		return
	}
	updates := a.updates()
	for _, n := range updates {
		a.rowsOnce(n)
	}
	a.readFirst(updates)
	op := a.Node("NoOp", "train_op", nil, nil)
	op.Control = a.trainOp
	a.trainOp = []*graph.Node{op}
}

// updates are the nodes of the train op that change variables.
func (a *assembly) updates() []*graph.Node {
	needed := graph.Reachable(a.trainOp...)
	var out []*graph.Node
	for _, n := range a.Graph.Nodes() {
		if needed[n] && len(n.Outputs) == 0 && len(handles(n)) > 0 {
			out = append(out, n)
		}
	}
	return out
}

// handles are the variables that a node takes.
func handles(n *graph.Node) []*graph.Node {
	var out []*graph.Node
	for _, in := range n.Inputs {
		if in.Node.Op == "VarHandleOp" {
			out = append(out, in.Node)
		}
	}
	return out
}

// readFirst puts each read of a variable before all updates of it that it does not follow.
func (a *assembly) readFirst(updates []*graph.Node) {
	needed := graph.Reachable(a.roots()...)
	reads := map[*graph.Node][]*graph.Node{}
	for _, n := range a.Graph.Nodes() {
		if needed[n] && len(n.Outputs) > 0 {
			for _, h := range handles(n) {
				reads[h] = append(reads[h], n)
			}
		}
	}
	before := map[*graph.Node]map[*graph.Node]bool{} // what reads that need more than the variable follow
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

// rowsOnce gives an update by rows each row once, and none of negative index: TensorFlow
// applies a rule to equal indices one after the other, and refuses negative ones.
func (a *assembly) rowsOnce(n *graph.Node) {
	op := ops.Find(n.Op)
	if op == nil {
		return
	}
	at, ok := op.Update()
	if !ok || at.Indices < 0 {
		return
	}
	n.Inputs = slices.Clone(n.Inputs)
	n.Inputs[at.Gradient], n.Inputs[at.Indices] = a.once(n.Name+"/once", n.Inputs[at.Gradient], n.Inputs[at.Indices])
}
