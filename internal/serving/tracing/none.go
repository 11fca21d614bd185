//go:build notrace

package tracing

import (
	"context"
	"net/http"
	"os"
	"time"

	"github.com/goestimator/goestimator/internal/platform/features"
	"google.golang.org/grpc/stats"
)

// Options say where spans go. This binary records none.
type Options struct {
	Endpoint string
	Insecure bool
	Service  string
	Ratio    float64
}

// Setup returns an error if a collector is configured, since this binary was built without spans.
func Setup(_ context.Context, o Options) (shutdown func(context.Context) error, err error) {
	if o.Endpoint != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" {
		if err := features.Need("trace"); err != nil {
			return nil, err
		}
	}
	return func(context.Context) error { return nil }, nil
}

// StatsHandler ignores the calls of a gRPC server.
func StatsHandler() stats.Handler { return nothing{} }

type nothing struct{}

func (nothing) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (nothing) HandleRPC(context.Context, stats.RPCStats)                         {}
func (nothing) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (nothing) HandleConn(context.Context, stats.ConnStats)                       {}

// Handler returns h.
func Handler(h http.Handler) http.Handler { return h }

// Start returns ctx.
func Start(ctx context.Context, _ string) (within context.Context, end func(error)) {
	return ctx, func(error) {}
}

// Record does nothing.
func Record(context.Context, string, time.Time, time.Time) {}
