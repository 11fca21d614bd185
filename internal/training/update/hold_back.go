package update

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/training/rule"
)

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
		kept := rule.Choose(b, keep, scope, r.typ, em.wild(b.Read(v, r.typ, updates...)), b.Read(v, r.typ))
		em.targets = append(em.targets, rule.Assign(b, "AssignVariableOp", scope+"AssignVariableOp", v, kept))
	}
}
