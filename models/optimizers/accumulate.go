package optimizers

import (
	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/internal/lower"
	"github.com/goestimator/goestimator/models"
)

// Without control flow in the graph, each batch computes an update from the
// mean of what has been summed so far, and all but every k-th are taken back:
// holdBack restores each variable that the update changed. That is right for
// every rule, whatever its slots do when the gradient or the rate is zero.

// accumulate adds this batch's gradients to the sums and returns the means. A
// sum is dense, in a variable, also where the gradient is sparse: its mean is
// then applied as a dense gradient.
func (em *emission) accumulate(grads []lower.Value) []lower.Value {
	c := calc{em.b, "accumulate/"}
	k := number(float64(em.AccumulateSteps))
	left := c.sub(num{out: em.step}, c.mul(c.floor(c.div(num{out: em.step}, k)), k)) // step mod k
	em.due = em.b.Op("Equal", "accumulate/Equal", graph.Type{DType: graph.Bool},
		graph.Attrs{"T": graph.Float64, "incompatible_shape_error": true}, c.output(left), c.output(number(float64(em.AccumulateSteps-1))))
	out := make([]lower.Value, 0, len(grads))
	for _, g := range em.Groups {
		for _, v := range g.Variables {
			out = append(out, em.accumulateOne(v, grads[len(out)]))
		}
	}
	return out
}

func (em *emission) accumulateOne(v *models.Variable, g lower.Value) lower.Value {
	b, t := em.b, v.Type()
	scope := "accumulate/" + v.Name + "/"
	sum := b.Variable(accumulatorName(v), t)
	old := b.Read(sum, t)
	var after []*graph.Node
	var total graph.Output
	if g.Sparse() {
		add := b.Node("ResourceScatterAdd", scope+"ResourceScatterAdd", nil,
			graph.Attrs{"dtype": v.DType, "Tindices": g.Indices.DType()}, sum, g.Indices, cast(b, scope+"Cast", g.Output, v.DType))
		after = []*graph.Node{add}
		total = b.Read(sum, t, add)
	} else {
		total = b.Op("AddV2", scope+"AddV2", t, graph.Attrs{"T": v.DType}, old, cast(b, scope+"Cast", g.Output, v.DType))
	}
	rest := em.choose(scope, t, b.Op("ZerosLike", scope+"ZerosLike", t, graph.Attrs{"T": v.DType}, total), total)
	em.targets = append(em.targets, assign(b, "AssignVariableOp", scope+"AssignVariableOp", sum, rest, after...))
	mean := b.Op("Mul", scope+"Mul", t, graph.Attrs{"T": v.DType}, total, b.Scalar(scope+"weight", v.DType, 1/float64(em.AccumulateSteps)))
	return lower.Value{Output: mean}
}

// choose returns yes where an update is due, else no.
func (em *emission) choose(scope string, t graph.Type, yes, no graph.Output) graph.Output {
	return em.b.Op("SelectV2", scope+"SelectV2", t, graph.Attrs{"T": t.DType}, em.due, yes, no)
}

// holdBack undoes the update where none is due.
func (em *emission) holdBack() {
	b := em.b
	updates := em.targets
	for _, r := range em.touched {
		v, scope := b.Variable(r.name, r.typ), "accumulate/"+r.name+"/"
		kept := em.choose(scope, r.typ, b.Read(v, r.typ, updates...), b.Read(v, r.typ))
		em.targets = append(em.targets, assign(b, "AssignVariableOp", scope+"AssignVariableOp", v, kept))
	}
}
