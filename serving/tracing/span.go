package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/goestimator/goestimator/serving"

// Start begins a span within that of ctx; end closes it, with the error that came of it or nil.
func Start(ctx context.Context, name string) (within context.Context, end func(error)) {
	ctx, span := otel.Tracer(scope).Start(ctx, name)
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// Past records a span that is over, within that of ctx.
func Past(ctx context.Context, name string, from, to time.Time) {
	_, span := otel.Tracer(scope).Start(ctx, name, trace.WithTimestamp(from))
	span.End(trace.WithTimestamp(to))
}
