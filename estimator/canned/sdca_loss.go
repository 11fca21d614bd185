package canned

import "math"

// dualLoss is the loss of one example with weight 1, and its conjugate: label y,
// prediction wx, dual variable a. The formulas are from Shalev-Shwartz and Zhang 2013;
// norm is partitions * weight * |x|^2 / l2.
type dualLoss interface {
	// updated maximises the dual objective over this example's variable.
	updated(y, wx, a, norm float64) float64
	primal(y, wx float64) float64
	dual(y, a float64) float64
	// slope is the derivative of primal by wx.
	slope(y, wx float64) float64
}

// squared is (y-wx)^2/2.
type squared struct{}

func (squared) updated(y, wx, a, norm float64) float64 { return a + (y-a-wx)/(1+norm) }
func (squared) primal(y, wx float64) float64           { return (y - wx) * (y - wx) / 2 }
func (squared) dual(y, a float64) float64              { return a * (a/2 - y) }
func (squared) slope(y, wx float64) float64            { return wx - y }

// logistic is log(1+exp(-y*wx)) for labels of -1 and 1; y*a lies between 0 and 1.
type logistic struct{}

// updated solves for x, where y*a is the logistic function of 2x, by Newton's method.
// The best dual variable is the one at the prediction that it leads to.
func (logistic) updated(y, wx, a, norm float64) float64 {
	x := 0.0
	for range 10 {
		th := math.Tanh(x)
		f := -2*y*x - wx - norm*(0.5*(1+th)/y-a)
		df := -2*y - norm*(1-th*th)*0.5/y
		x -= f / df
	}
	return 0.5 * (1 + math.Tanh(x)) / y
}

func (logistic) primal(y, wx float64) float64 {
	z := -y * wx
	return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z)))
}

func (logistic) dual(y, a float64) float64 {
	p := y * a
	s := 0.0
	if p > 0 {
		s += p * math.Log(p)
	}
	if p < 1 {
		s += (1 - p) * math.Log1p(-p)
	}
	return s
}

func (logistic) slope(y, wx float64) float64 { return -y / (1 + math.Exp(y*wx)) }
