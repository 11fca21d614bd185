package estimator

import (
	"context"
	"log/slog"
	"math"
	"slices"

	"github.com/goestimator/goestimator/estimator/hooks"
)

// LogEvals returns an EvalSpec.AfterEval that logs a line for each evaluation and then calls then, if that is not nil. It
// leaves out an evaluation that repeats the last one, as when a step is evaluated in memory and again by its checkpoint.
func LogEvals(log *slog.Logger, then func(EvalResult) error) func(ctx context.Context, res EvalResult, final bool) error {
	return logEvals(func(ctx context.Context, attrs []slog.Attr) { log.LogAttrs(ctx, slog.LevelInfo, "eval", attrs...) }, then)
}

// plainEvals is LogEvals for a human reader: its lines look like the lines of training.
func plainEvals(log *slog.Logger) func(context.Context, EvalResult, bool) error {
	return logEvals(func(_ context.Context, attrs []slog.Attr) { log.Info("eval " + hooks.Line(attrs)) }, nil)
}

func logEvals(write func(context.Context, []slog.Attr), then func(EvalResult) error) func(context.Context, EvalResult, bool) error {
	var last []slog.Attr
	return func(ctx context.Context, res EvalResult, _ bool) error {
		attrs := res.attrs()
		if slices.EqualFunc(attrs, last, sameAttr) {
			return nil
		}
		last = attrs
		write(ctx, attrs)
		if then == nil {
			return nil
		}
		return then(res)
	}
}

// sameAttr compares attributes, with NaN equal to itself.
func sameAttr(a, b slog.Attr) bool {
	if a.Value.Kind() == slog.KindFloat64 && b.Value.Kind() == slog.KindFloat64 {
		return a.Key == b.Key && math.Float64bits(a.Value.Float64()) == math.Float64bits(b.Value.Float64())
	}
	return a.Equal(b)
}
