package cli

import (
	"context"
	"log/slog"
	"math"
	"slices"

	"github.com/goestimator/goestimator/estimator"
)

// toldEval is the last evaluation that was logged. A step whose checkpoint is evaluated after the variables in memory is not
// logged twice.
type toldEval struct {
	step   int64
	values []float64 // in the order of their names
}

// tellEval logs an evaluation in one line, and in run.metrics_log.
func (j *job) tellEval(ctx context.Context, res estimator.EvalResult, _ bool) error {
	attrs, now := []slog.Attr{slog.Int64("step", res.GlobalStep)}, toldEval{step: res.GlobalStep}
	for _, name := range sortedNames(res.Metrics) {
		if v, ok := res.Scalar(name); ok {
			attrs, now.values = append(attrs, slog.Float64(name, v)), append(now.values, v)
		}
	}
	if now.step == j.told.step && slices.EqualFunc(now.values, j.told.values, sameValue) {
		return nil
	}
	j.told = now
	j.app.log.LogAttrs(ctx, slog.LevelInfo, "eval", attrs...)
	if j.metrics != nil {
		return j.metrics.evaluated(res)
	}
	return nil
}

// sameValue takes NaN for equal to itself.
func sameValue(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
