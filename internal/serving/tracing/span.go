//go:build !notrace

package tracing

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// recording is set once Setup has configured a collector; without one, spans are not even made.
var recording atomic.Bool

const scope = "github.com/goestimator/goestimator/serving"

// Start begins a span within the span of ctx; end closes it with an error or nil.
func Start(ctx context.Context, name string) (within context.Context, end func(error)) {
	if !recording.Load() {
		return ctx, func(error) {}
	}
	ctx, span := otel.Tracer(scope).Start(ctx, name)
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, printableName(err.Error())) // it may quote the request
		}
		span.End()
	}
}

// Record records a finished span within the span of ctx.
func Record(ctx context.Context, name string, from, to time.Time) {
	if !recording.Load() {
		return
	}
	_, span := otel.Tracer(scope).Start(ctx, name, trace.WithTimestamp(from))
	span.End(trace.WithTimestamp(to))
}
