package expr_test

import (
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models/expr"
)

// TestNumbers: operations on numbers are computed immediately.
func TestNumbers(t *testing.T) {
	x, y := expr.Number(2), expr.Number(-3)
	for _, c := range []struct {
		got  expr.Expr
		want float64
	}{
		{x.Neg(), -2}, {y.Abs(), 3}, {y.Sign(), -1}, {x.Sign(), 1}, {expr.Expr{}.Sign(), 0}, {x.Square(), 4}, {expr.Number(9).Sqrt(), 3},
		{x.Exp(), math.Exp(2)}, {x.Log(), math.Log(2)}, {x.Sin(), math.Sin(2)}, {x.Cos(), math.Cos(2)}, {x.Tanh(), math.Tanh(2)}, {expr.Number(-0.5).Floor(), -1},
		{y.Norm(), 3}, {x.Add(y), -1}, {x.Sub(y), 5}, {x.Mul(y), -6}, {x.Div(y), 2.0 / -3}, {x.Pow(y), 0.125}, {x.Min(y), -3}, {x.Max(y), 2},
		{x.Plus(1), 3}, {x.Times(4), 8}, {expr.WhenLess(x, y, x, y), -3}, {expr.WhenLess(y, x, x, y), 2},
	} {
		if v, ok := c.got.Value(); !ok || v != c.want {
			t.Errorf("got %v, %v: expected %v", v, ok, c.want)
		}
	}
	if _, ok := expr.Input("x").Add(x).Value(); ok {
		t.Error("an input has a value")
	}
}

// TestTraceSharesNodes: a doubling sum of depth 60 has 61 instructions, not 2^60.
func TestTraceSharesNodes(t *testing.T) {
	x := expr.Input("x")
	for range 60 {
		x = x.Add(x)
	}
	p := expr.Trace(x, x)
	if len(p.Instructions) != 61 || len(p.Results) != 2 || p.Results[0] != 60 {
		t.Errorf("got %d instructions, results %v", len(p.Instructions), p.Results)
	}
	if err := p.Check("x"); err != nil {
		t.Error(err)
	}
}

// TestBind: binding numbers to a program's inputs gives the expressions' values for these
// numbers.
func TestBind(t *testing.T) {
	f := func(x, y expr.Expr) expr.Expr {
		return expr.WhenLess(x.Neg(), y.Times(2), x.Pow(y), y.Norm()).Plus(0.5)
	}
	p := expr.Trace(f(expr.Input("x"), expr.Input("y")))
	for _, c := range [][2]float64{{2, 3}, {-9, 1}} {
		x, y := expr.Number(c[0]), expr.Number(c[1])
		got, ok := p.Bind(map[string]expr.Expr{"x": x, "y": y})[0].Value()
		if want, _ := f(x, y).Value(); !ok || got != want {
			t.Errorf("%v: got %v, %v: expected %v", c, got, ok, want)
		}
	}
}

func TestCheck(t *testing.T) {
	one := func(i expr.Instruction) expr.Program {
		return expr.Program{Instructions: []expr.Instruction{{Op: "Input", Name: "x"}, i}, Results: []int{1}}
	}
	for want, p := range map[string]expr.Program{
		"unknown op \"ReadFile\"":    one(expr.Instruction{Op: "ReadFile", Args: []int{0}}),
		"Add of 1 operands":          {Instructions: []expr.Instruction{{Op: "Input", Name: "x"}, {Op: "AddV2", Args: []int{0}}}},
		"does not come before":       one(expr.Instruction{Op: "Neg", Args: []int{1}}),
		"operand -1":                 one(expr.Instruction{Op: "Neg", Args: []int{-1}}),
		"expected a finite one":      one(expr.Instruction{Op: "Const", Value: math.NaN()}),
		"unknown input \"password\"": one(expr.Instruction{Op: "Input", Name: "password"}),
		"result 7":                   {Instructions: []expr.Instruction{{Op: "Const"}}, Results: []int{7}},
		"expected at most":           {Instructions: make([]expr.Instruction, 5000)},
	} {
		want = strings.Replace(want, "Add of", "AddV2 of", 1)
		if err := p.Check("x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, got %v", want, err)
		}
	}
}
