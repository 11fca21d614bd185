package rule

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models/expr"
)

// Adadelta is tf.keras.optimizers.Adadelta (Zeiler 2012): a = rho*a + (1-rho)*g*g,
// d = g*sqrt(b+epsilon)/sqrt(a+epsilon), b = rho*b + (1-rho)*d*d, w -= lr*d.
type Adadelta struct{ Rho, Epsilon float64 }

// Name is "adadelta".
func (Adadelta) Name() string   { return "adadelta" }
func (Adadelta) Traits() Traits { return Traits{Label: "Adadelta", Keras: true, AllRows: true} }
func (Adadelta) Slots() []Slot  { return []Slot{{Keras: "accum_grad"}, {Keras: "accum_var"}} }

func (r Adadelta) Update(a *Application) []*graph.Node {
	return a.arithmetic(r, func(o operands) []expr.Expr {
		squares := decayed(r.Rho, o.slots[0], o.gradient.Square())
		change := o.slots[1].Plus(r.Epsilon).Sqrt().Mul(o.gradient).Div(squares.Plus(r.Epsilon).Sqrt())
		return []expr.Expr{o.variable.Sub(o.rate.Mul(change)), squares, decayed(r.Rho, o.slots[1], change.Square())}
	})
}
