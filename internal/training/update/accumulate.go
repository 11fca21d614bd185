package update

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// Each batch computes an update from the mean of the gradients summed so far,
// and all but every k-th update are held back.

// accumulate adds this batch's gradients to the sums and returns the means. A
// sum is dense, in a variable, even for a sparse gradient: its mean is
// then applied as a dense gradient.
func (em *emission) accumulate(grads []lower.Value) []lower.Value {
	c := rule.Scalars{B: em.b, Scope: "accumulate/"}
	k := c.Number(float64(em.AccumulateSteps))
	em.updates = c.Op("Floor", c.Op("RealDiv", em.step, k))
	left := c.Op("Sub", em.step, c.Op("Mul", em.updates, k)) // step mod k
	em.due = em.b.Op("Equal", "accumulate/Equal", graph.Type{DType: tensor.Bool},
		graph.Attrs{"T": tensor.Float64, "incompatible_shape_error": true}, left, c.Number(float64(em.AccumulateSteps-1)))
	out := make([]lower.Value, 0, len(grads))
	for _, g := range em.Groups {
		for _, v := range g.Variables {
			out = append(out, em.accumulateOne(v, grads[len(out)]))
		}
	}
	return out
}

func (em *emission) accumulateOne(v *models.Variable, g lower.Value) lower.Value {
	b, t := em.b, graph.TypeOf(v.DType, v.Shape...)
	scope := "accumulate/" + v.Name + "/"
	sum := b.Variable(accumulatorName(v), t)
	old := em.wild(b.Read(sum, t)) // may be non-finite until the window ends
	var after []*graph.Node
	var total graph.Output
	if g = lower.Join(b, scope, g); g.Sparse() {
		rows, ids := g.Slices[0].Rows, g.Slices[0].Indices
		add := b.Node("ResourceScatterAdd", scope+"ResourceScatterAdd", nil,
			graph.Attrs{"dtype": v.DType, "Tindices": ids.DType()}, sum, ids, b.Cast(scope+"Cast", rows, v.DType))
		after = []*graph.Node{add}
		total = em.wild(b.Read(sum, t, add))
	} else {
		total = b.Op("AddV2", scope+"AddV2", t, graph.Attrs{"T": v.DType}, old, b.Cast(scope+"Cast", g.Output, v.DType))
	}
	rest := rule.Choose(b, em.due, scope, t, b.Op("ZerosLike", scope+"ZerosLike", t, graph.Attrs{"T": v.DType}, total), total)
	em.targets = append(em.targets, rule.Assign(b, "AssignVariableOp", scope+"AssignVariableOp", sum, rest, after...))
	mean := b.Op("Mul", scope+"Mul", t, graph.Attrs{"T": v.DType}, total, b.Scalar(scope+"weight", v.DType, 1/float64(em.AccumulateSteps)))
	return lower.Value{Output: mean}
}
