//go:build !notrace

package tracing

import (
	"net/http"

	"github.com/goestimator/goestimator/internal/platform/printable"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/stats"
)

// StatsHandler makes a span for each call to a gRPC server: grpc.NewServer(grpc.StatsHandler(tracing.StatsHandler())). Call it
// after Setup. Calls of methods with unprintable or very long names get no span.
func StatsHandler() stats.Handler {
	return otelgrpc.NewServerHandler(otelgrpc.WithFilter(func(call *stats.RPCTagInfo) bool { return printableName(call.FullMethodName) == call.FullMethodName }))
}

// longest is the largest number of bytes of client-chosen text in a span.
const longest = 256

// printableName makes a client's text fit for spans: text that is not UTF-8 would prevent the export of all spans in the same
// batch, and long text would fill the memory in which they wait.
func printableName(s string) string {
	if len(s) > longest {
		s = s[:longest] + "..."
	}
	return printable.Text(s)
}

// Handler makes a span for each request to h, within the trace in the request's headers.
func Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := otel.GetTextMapPropagator().Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		method, path := printableName(r.Method), printableName(r.URL.Path)
		ctx, span := otel.Tracer(scope).Start(ctx, method+" "+path, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("url.path", path)))
		defer span.End()
		out := &recorder{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(out, r.WithContext(ctx))
		span.SetAttributes(attribute.Int("http.response.status_code", out.status))
		if out.status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(out.status))
		}
	})
}

// recorder remembers the status of a response.
type recorder struct {
	http.ResponseWriter
	status int
	wrote  bool
}

func (r *recorder) WriteHeader(status int) {
	if !r.wrote {
		r.status, r.wrote = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.wrote = true
	return r.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController access to the wrapped writer.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
