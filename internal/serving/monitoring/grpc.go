package monitoring

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
)

// calls are metrics of the gRPC server, under the names that its users know.
type calls struct {
	started *prometheus.CounterVec
	handled *prometheus.CounterVec
	taking  *prometheus.HistogramVec
}

func newCalls(reg *prometheus.Registry) calls {
	c := calls{
		started: counter("grpc_server_started_total", "Calls that began.", "grpc_service", "grpc_method"),
		handled: counter("grpc_server_handled_total", "Calls that ended, by status.", "grpc_service", "grpc_method", "grpc_code"),
		taking: histogram("grpc_server_handling_seconds", "Seconds of a call.", prometheus.ExponentialBuckets(0.0001, 2.5, 13),
			"grpc_service", "grpc_method"),
	}
	reg.MustRegister(c.started, c.handled, c.taking)
	return c
}

// Unary counts calls: grpc.ChainUnaryInterceptor(registry.Unary). Put it first, so that refused calls count. Only methods
// that the server has get here.
func (c *calls) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	end := c.begin(info.FullMethod)
	resp, err := handler(ctx, req)
	end(err)
	return resp, err
}

// Stream counts streams: grpc.ChainStreamInterceptor(registry.Stream).
func (c *calls) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	end := c.begin(info.FullMethod)
	err := handler(srv, ss)
	end(err)
	return err
}

func (c *calls) begin(full string) (end func(error)) {
	service, method, _ := strings.Cut(strings.TrimPrefix(full, "/"), "/")
	start := time.Now()
	c.started.WithLabelValues(service, method).Inc()
	return func(err error) {
		c.handled.WithLabelValues(service, method, code(err)).Inc()
		c.taking.WithLabelValues(service, method).Observe(time.Since(start).Seconds())
	}
}
