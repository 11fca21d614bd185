package metrics_test

import (
	"errors"
	"math"
	"testing"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/tensor"
)

// meanLogRatio is the weighted mean of log(prediction/label).
func meanLogRatio(t *testing.T, name string) *metrics.Formula {
	t.Helper()
	m, err := metrics.NewFormula(name, func(y, p expr.Expr) []expr.Expr { return []expr.Expr{expr.Number(1), p.Div(y).Log()} },
		func(sums []expr.Expr) expr.Expr { return sums[1].Div(sums[0]) })
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFormula(t *testing.T) {
	f32 := func(v ...float32) *tensor.Tensor {
		x, err := tensor.FromSlice(v, len(v))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	m, other := meanLogRatio(t, "log_ratio"), meanLogRatio(t, "log_ratio")
	if err := m.Update(f32(1, 2), f32(2, 2), f32(3, 1)); err != nil {
		t.Fatal(err)
	}
	if v, _ := m.Result().Scalar(); math.Abs(v-0.75*math.Ln2) > 1e-12 {
		t.Errorf("got %v, expected 3/4 log 2", v)
	}
	state, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.UnmarshalBinary(state); err != nil {
		t.Fatal(err)
	}
	if err := other.Merge(m); err != nil {
		t.Fatal(err)
	}
	if other.Result().Data[0] != m.Result().Data[0] {
		t.Errorf("merged with itself: %v, expected %v", other.Result(), m.Result())
	}
	if err := m.Merge(meanLogRatio(t, "another")); !errors.Is(err, metrics.ErrIncompatible) {
		t.Errorf("merged with another formula: %v", err)
	}
	if err := m.Update(f32(1), f32(1, 2)); err == nil {
		t.Error("labels and predictions of two shapes: no error")
	}
}

func TestFormulaRefuses(t *testing.T) {
	one := func(_, _ expr.Expr) []expr.Expr { return []expr.Expr{expr.Number(1)} }
	first := func(s []expr.Expr) expr.Expr { return s[0] }
	none := func(_, _ expr.Expr) []expr.Expr { return nil }
	norm := func(y, _ expr.Expr) []expr.Expr { return []expr.Expr{y.Norm()} }
	for name, f := range map[string]func() (*metrics.Formula, error){
		"no name": func() (*metrics.Formula, error) { return metrics.NewFormula("", one, first) },
		"no terms": func() (*metrics.Formula, error) {
			return metrics.NewFormula("f", none, func([]expr.Expr) expr.Expr { return expr.Number(0) })
		},
		"no value": func() (*metrics.Formula, error) { return metrics.NewFormula("f", one, nil) },
		"an input of a term that is neither label nor prediction": func() (*metrics.Formula, error) {
			return metrics.NewFormula("f", func(_, _ expr.Expr) []expr.Expr { return []expr.Expr{expr.Input("labels")} }, first)
		},
		"a result that is not of sums": func() (*metrics.Formula, error) {
			return metrics.NewFormula("f", one, func(s []expr.Expr) expr.Expr { return s[0].Add(expr.Input("label")) })
		},
		"a number that is not finite": func() (*metrics.Formula, error) {
			return metrics.NewFormula("f", one, func(s []expr.Expr) expr.Expr { return s[0].Div(expr.Number(1).Div(expr.Number(0))) })
		},
		"a norm": func() (*metrics.Formula, error) { return metrics.NewFormula("f", norm, first) },
	} {
		if _, err := f(); !errors.Is(err, metrics.ErrParameter) {
			t.Errorf("%s: got %v, expected ErrParameter", name, err)
		}
	}
}
