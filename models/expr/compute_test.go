package expr_test

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/models/expr"
)

// TestCompute: a program over slices gives the expressions' values for each element.
func TestCompute(t *testing.T) {
	f := func(x, y expr.Expr) expr.Expr {
		return expr.WhenLess(x, y.Times(2), x.Abs().Sqrt().Max(y), x.Pow(y).Sub(y.Exp())).Plus(0.5)
	}
	p := expr.Trace(f(expr.Input("x"), expr.Input("y")), expr.Number(3))
	x, y := []float64{1, -4, 9, 0}, []float64{2, 3, -1, 0}
	got := p.Compute(4, map[string][]float64{"x": x, "y": y})
	for i := range x {
		want, _ := f(expr.Number(x[i]), expr.Number(y[i])).Value()
		if got[0][i] != want || got[1][i] != 3 {
			t.Errorf("element %d: got %v and %v, expected %v and 3", i, got[0][i], got[1][i], want)
		}
	}
	if !p.Elementwise() {
		t.Error("a program without Norm is not elementwise")
	}
	norm := expr.Trace(expr.Input("x").Norm())
	if v := norm.Compute(4, map[string][]float64{"x": x})[0][2]; v != math.Sqrt(98) || norm.Elementwise() {
		t.Errorf("norm %v, elementwise %v", v, norm.Elementwise())
	}
}
