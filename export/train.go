package export

import (
	"slices"

	"github.com/goestimator/goestimator/internal/graph"
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

// sparseUpdates say which operands of an update by rows are the rows and their indices.
var sparseUpdates = map[string]struct{ rows, indices int }{
	"ResourceScatterSub": {2, 1}, "ResourceScatterAdd": {2, 1},
	"ResourceSparseApplyAdagrad": {3, 4}, "ResourceSparseApplyAdagradV2": {4, 5},
	"ResourceSparseApplyMomentum": {3, 4}, "ResourceSparseApplyKerasMomentum": {3, 4},
	"ResourceSparseApplyFtrl": {3, 4}, "ResourceSparseApplyFtrlV2": {3, 4},
	"ResourceSparseApplyRMSProp": {7, 8}, "ResourceSparseApplyCenteredRMSProp": {8, 9},
}

// rowsOnce gives an update by rows each row once, and none of negative index: TensorFlow
// applies a rule to equal indices one after the other, and refuses negative ones.
func (a *assembly) rowsOnce(n *graph.Node) {
	at, ok := sparseUpdates[n.Op]
	if !ok {
		return
	}
	rows, indices := n.Inputs[at.rows], n.Inputs[at.indices]
	name, d, i := n.Name+"/once", rows.DType(), indices.DType()
	dims := append([]graph.Dim{graph.Unknown}, rows.Shape().Dims[1:]...)
	zero := a.Scalar(name+"/zero", i, 0)
	there := a.like("GreaterEqual", name+"/there", graph.Bool, indices, zero)
	where := a.Op("Where", name+"/Where", ofRank(graph.Int64, graph.Unknown, graph.Fixed(1)), graph.Attrs{"T": graph.Bool}, there)
	kept := a.Op("Squeeze", name+"/Squeeze", vector(graph.Int64), graph.Attrs{"T": graph.Int64, "squeeze_dims": []int64{1}}, where)
	axis := a.Scalar(name+"/axis", graph.Int32, 0)
	pick := func(what string, x graph.Output, t graph.Type) graph.Output {
		return a.Op("GatherV2", name+"/"+what, t, graph.Attrs{"Tparams": x.DType(), "Tindices": graph.Int64, "Taxis": graph.Int32, "batch_dims": int64(0)}, x, kept, axis)
	}
	unique := a.Node("Unique", name+"/Unique", []graph.Type{vector(i), vector(graph.Int32)}, graph.Attrs{"T": i, "out_idx": graph.Int32}, pick("indices", indices, vector(i)))
	count := a.Op("Size", name+"/Size", graph.Type{DType: graph.Int32}, graph.Attrs{"T": i, "out_type": graph.Int32}, unique.Out(0))
	sum := a.Op("UnsortedSegmentSum", name+"/UnsortedSegmentSum", ofRank(d, dims...), graph.Attrs{"T": d, "Tindices": graph.Int32, "Tnumsegments": graph.Int32},
		pick("rows", rows, ofRank(d, dims...)), unique.Out(1), count)
	n.Inputs = slices.Clone(n.Inputs)
	n.Inputs[at.rows], n.Inputs[at.indices] = sum, unique.Out(0)
}
