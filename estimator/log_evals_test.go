package estimator_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/metrics"
)

// plainLog writes lines without times.
func plainLog(to *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestLogEvals(t *testing.T) {
	evaluation := func(step int64, loss float64) estimator.EvalResult {
		return estimator.EvalResult{GlobalStep: step, Metrics: map[string]metrics.Value{
			"loss": {Data: []float64{loss}}, "accuracy": {Data: []float64{0.5}}, "matrix": {Shape: []int{2}, Data: []float64{1, 2}}}}
	}
	var lines bytes.Buffer
	var passed []int64
	stop := errors.New("stop")
	after := estimator.LogEvals(plainLog(&lines), func(res estimator.EvalResult) error {
		if passed = append(passed, res.GlobalStep); res.GlobalStep == 3 {
			return stop
		}
		return nil
	})
	for _, res := range []estimator.EvalResult{evaluation(1, 2), evaluation(1, 2), evaluation(2, math.NaN()), evaluation(2, math.NaN()), evaluation(2, 0)} {
		if err := after(context.Background(), res, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := after(context.Background(), evaluation(3, 0), true); !errors.Is(err, stop) {
		t.Errorf("got %v, expected the error of then", err)
	}
	want := "level=INFO msg=eval step=1 accuracy=0.5 loss=2\nlevel=INFO msg=eval step=2 accuracy=0.5 loss=NaN\n" +
		"level=INFO msg=eval step=2 accuracy=0.5 loss=0\nlevel=INFO msg=eval step=3 accuracy=0.5 loss=0\n"
	if lines.String() != want || len(passed) != 4 {
		t.Errorf("passed on %v, logged\n%sexpected\n%s", passed, lines.String(), want)
	}
}

// TestEvaluationsAreLogged: evaluations are logged if the caller has no AfterEval, which would otherwise receive them alone.
func TestEvaluationsAreLogged(t *testing.T) {
	for name, after := range map[string]func(context.Context, estimator.EvalResult, bool) error{
		"logged": nil, "the caller's": func(context.Context, estimator.EvalResult, bool) error { return nil }} {
		var lines bytes.Buffer
		e := toy(t, t.TempDir(), estimator.WithLogger(plainLog(&lines)))
		_, err := estimator.TrainAndEvaluate(t.Context(), e, estimator.TrainSpec{Input: forever(&toyData{}), MaxSteps: 4},
			estimator.EvalSpec{Input: &toyData{}, AfterEval: after})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(lines.String(), `msg="eval step=4 loss=`); got != (after == nil) {
			t.Errorf("%s: logged %q", name, lines.String())
		}
	}
}
