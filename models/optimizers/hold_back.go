package optimizers

import "github.com/goestimator/goestimator/internal/compiler/graph"

// Without control flow in the graph, each step computes an update, and those
// that are not to be are taken back: each variable that the update changed gets
// its old value. That is right for every rule, whatever its slots do when the
// gradient or the rate is zero.

// holdBack undoes an update that is not due, or whose gradients are not finite,
// which valid outputs tell. An update that is left out is counted all the same,
// as Keras does.
func (em *emission) holdBack(finite graph.Output) {
	b := em.b
	updates := em.targets
	for _, r := range em.touched {
		keep := em.due
		if !r.counts {
			keep = em.both(em.due, finite)
		}
		if !keep.Valid() {
			continue
		}
		v, scope := b.Variable(r.name, r.typ), "hold_back/"+r.name+"/"
		kept := choose(b, keep, scope, r.typ, em.wild(b.Read(v, r.typ, updates...)), b.Read(v, r.typ))
		em.targets = append(em.targets, assign(b, "AssignVariableOp", scope+"AssignVariableOp", v, kept))
	}
}

// choose returns yes where cond holds, else no.
func choose(b *graph.Builder, cond graph.Output, scope string, t graph.Type, yes, no graph.Output) graph.Output {
	return b.Op("SelectV2", scope+"SelectV2", t, graph.Attrs{"T": t.DType}, cond, yes, no)
}
