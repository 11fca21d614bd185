package rule

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models/expr"
)

// Adamax is tf.keras.optimizers.Adamax (Kingma and Ba 2014, section 7.1): u = max(beta2*u, |g|),
// w -= lr/(1-beta1^t) * m/(u+epsilon).
type Adamax struct{ Beta1, Beta2, Epsilon float64 }

// Name is "adamax".
func (Adamax) Name() string   { return "adamax" }
func (Adamax) Traits() Traits { return Traits{Label: "Adamax", Keras: true, AllRows: true} }
func (Adamax) Slots() []Slot  { return []Slot{{Keras: "m"}, {Keras: "v"}} }

func (r Adamax) Update(a *Application) []*graph.Node {
	return a.arithmetic(r, func(o operands) []expr.Expr {
		m, u := decayed(r.Beta1, o.slots[0], o.gradient), o.slots[1].Times(r.Beta2).Max(o.gradient.Abs())
		rate := o.rate.Div(o.unbiased(r.Beta1))
		return []expr.Expr{o.variable.Sub(rate.Mul(m).Div(u.Plus(r.Epsilon))), m, u}
	})
}

// AMSGrad is tf.keras.optimizers.Adam with amsgrad (Reddi et al. 2018): Adam's update with the largest v so far.
type AMSGrad struct{ Beta1, Beta2, Epsilon float64 }

// Name is "amsgrad".
func (AMSGrad) Name() string   { return "amsgrad" }
func (AMSGrad) Traits() Traits { return Traits{Label: "Adam", Keras: true, AllRows: true} }
func (AMSGrad) Slots() []Slot  { return []Slot{{Keras: "m"}, {Keras: "v"}, {Keras: "vhat"}} }

func (r AMSGrad) Update(a *Application) []*graph.Node {
	return a.arithmetic(r, func(o operands) []expr.Expr {
		m, v := decayed(r.Beta1, o.slots[0], o.gradient), decayed(r.Beta2, o.slots[1], o.gradient.Square())
		most := o.slots[2].Max(v)
		rate := o.rate.Mul(o.unbiased(r.Beta2).Sqrt()).Div(o.unbiased(r.Beta1))
		return []expr.Expr{o.variable.Sub(rate.Mul(m).Div(most.Sqrt().Plus(r.Epsilon))), m, v, most}
	})
}

// Nadam is tf.keras.optimizers.Nadam (Dozat 2016): Adam with Nesterov's momentum. The momentum of
// step t is u(t) = beta1*(1 - 0.96^t/2).
type Nadam struct{ Beta1, Beta2, Epsilon float64 }

// Name is "nadam".
func (Nadam) Name() string   { return "nadam" }
func (Nadam) Traits() Traits { return Traits{Label: "Nadam", Keras: true, AllRows: true} }
func (Nadam) Slots() []Slot  { return []Slot{{Keras: "m"}, {Keras: "v"}} }

func (r Nadam) Update(a *Application) []*graph.Node {
	return a.arithmetic(r, func(o operands) []expr.Expr {
		m, v := decayed(r.Beta1, o.slots[0], o.gradient), decayed(r.Beta2, o.slots[1], o.gradient.Square())
		one := expr.Number(1)
		now, next := r.momentum(o.count), r.momentum(o.count.Plus(1))
		product := r.momenta(o.count)
		ahead := m.Mul(next.Div(one.Sub(product.Mul(next)))).Add(o.gradient.Mul(one.Sub(now).Div(one.Sub(product))))
		root := v.Div(o.unbiased(r.Beta2)).Sqrt().Plus(r.Epsilon)
		return []expr.Expr{o.variable.Sub(o.rate.Mul(ahead).Div(root)), m, v}
	})
}

const momentumDecay = 0.96

// momentum is u(t).
func (r Nadam) momentum(t expr.Expr) expr.Expr {
	return expr.Number(momentumDecay).Pow(t).Times(-0.5).Plus(1).Times(r.Beta1)
}

// momenta is the product of u(1) to u(t), computed without state. With q = 0.96 the logarithm of the product of all
// 1 - q^i/2 is -sum over k of (q/2)^k/k * (1-q^(kt))/(1-q^k): a polynomial in q^t, here with 60 terms, since (q/2)^60 < 1e-19.
func (r Nadam) momenta(t expr.Expr) expr.Expr {
	const terms = 60
	power := expr.Number(momentumDecay).Pow(t)
	sum, all := expr.Number(0), 0.0
	for k := terms; k >= 1; k-- {
		term := math.Pow(momentumDecay/2, float64(k)) / float64(k) / (1 - math.Pow(momentumDecay, float64(k)))
		sum, all = sum.Plus(term).Mul(power), all+term
	}
	return sum.Plus(-all).Exp().Mul(expr.Number(r.Beta1).Pow(t))
}
