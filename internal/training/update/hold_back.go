package update

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/training/rule"
)

// The graph has no control flow, so each step computes an update. If it must not be
// made, it is undone: each variable that the update changed gets
// its old value back. That is right for every rule, whatever its slots do when the
// gradient or the rate is zero.

// holdBack undoes an update that is not due, or whose gradients are not finite;
// outputs that are not Valid are ignored. An undone update still counts,
// as in Keras.
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
