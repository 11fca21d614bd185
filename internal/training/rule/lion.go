package rule

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models/expr"
)

// Lion is tf.keras.optimizers.Lion (Chen et al. 2023): w -= lr*sign(beta1*m + (1-beta1)*g), then
// m = beta2*m + (1-beta2)*g.
type Lion struct{ Beta1, Beta2 float64 }

// Name is "lion".
func (Lion) Name() string   { return "lion" }
func (Lion) Traits() Traits { return Traits{Label: "Lion", Keras: true, AllRows: true} }
func (Lion) Slots() []Slot  { return []Slot{{Keras: "m"}} }

func (r Lion) Update(a *Application) []*graph.Node {
	return a.arithmetic(r, func(o operands) []expr.Expr {
		m := o.slots[0]
		step := o.rate.Mul(decayed(r.Beta1, m, o.gradient).Sign())
		return []expr.Expr{o.variable.Sub(step), decayed(r.Beta2, m, o.gradient)}
	})
}
