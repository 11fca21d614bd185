package rule

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models/expr"
)

// operands are the inputs of a rule that is written as arithmetic. A sparse gradient is made dense, so that all
// rows change, as in Keras.
type operands struct {
	variable, gradient, rate expr.Expr
	count                    expr.Expr // of updates, including this one
	slots                    []expr.Expr
}

// arithmetic adds an update as a program. next returns the next values of the variable and of the slots, in the
// order of r.Slots.
func (a *Application) arithmetic(r Rule, next func(o operands) []expr.Expr) []*graph.Node {
	o := operands{variable: expr.Input(InputVariable), gradient: expr.Input(InputGradient), rate: expr.Input(InputRate), count: expr.Input(InputStep).Plus(1)}
	c := Custom{Label: r.Name()}
	for _, s := range r.Slots() {
		o.slots = append(o.slots, expr.Input(s.Keras))
		c.States = append(c.States, CustomSlot{Name: s.Keras, Init: s.Init})
	}
	c.Next = expr.Trace(next(o)...)
	counted := *a
	counted.Step = a.Steps
	return c.Update(&counted)
}

// decayed returns the running mean of values: beta*mean + (1-beta)*value.
func decayed(beta float64, mean, value expr.Expr) expr.Expr {
	return mean.Times(beta).Add(value.Times(1 - beta))
}

// unbiased is 1 - beta^count, the divisor for a running mean that started at 0.
func (o operands) unbiased(beta float64) expr.Expr {
	return expr.Number(1).Sub(expr.Number(beta).Pow(o.count))
}
