package rule

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models/expr"
)

// LAMB is tfa.optimizers.LAMB (You et al. 2019): Adam's step plus weight decay, scaled to a length of lr times
// the norm of the variable. If either norm is 0, the step is only multiplied by lr.
type LAMB struct{ Beta1, Beta2, Epsilon float64 }

// Name is "lamb".
func (LAMB) Name() string  { return "lamb" }
func (LAMB) Slots() []Slot { return []Slot{{Keras: "m"}, {Keras: "v"}} }
func (LAMB) Traits() Traits {
	return Traits{Label: "LAMB", Keras: true, AllRows: true, Whole: true, Decays: true}
}

func (r LAMB) Update(a *Application) []*graph.Node {
	return a.arithmetic(r, func(o operands) []expr.Expr {
		m, v := decayed(r.Beta1, o.slots[0], o.gradient), decayed(r.Beta2, o.slots[1], o.gradient.Square())
		step := m.Div(o.unbiased(r.Beta1)).Div(v.Div(o.unbiased(r.Beta2)).Sqrt().Plus(r.Epsilon))
		if a.WeightDecay != 0 {
			step = step.Add(o.variable.Times(a.WeightDecay))
		}
		zero, one := expr.Number(0), expr.Number(1)
		size, length := o.variable.Norm(), step.Norm()
		trust := expr.WhenLess(zero, size, expr.WhenLess(zero, length, size.Div(length), one), one)
		return []expr.Expr{o.variable.Sub(o.rate.Mul(trust).Mul(step)), m, v}
	})
}
