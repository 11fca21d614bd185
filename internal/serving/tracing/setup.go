//go:build !notrace

package tracing

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Options say where spans go.
type Options struct {
	Endpoint string  // host:port of an OTLP collector (gRPC); empty: what OTEL_EXPORTER_OTLP_ENDPOINT says, or nowhere
	Insecure bool    // talk to Endpoint without TLS
	Service  string  // service.name; empty: OTEL_SERVICE_NAME, or "goestimator"
	Ratio    float64 // share of the requests without a trace that are recorded, in (0, 1]; 0: all. Other requests keep their trace's sampling

	exporter sdk.SpanExporter // for tests
}

// Setup makes the process record spans as o says; the result flushes them and ends recording. Without a collector it does
// nothing.
func Setup(ctx context.Context, o Options) (shutdown func(context.Context) error, err error) {
	if o.Ratio < 0 || o.Ratio > 1 {
		return nil, fmt.Errorf("tracing: ratio %v: expected a number from 0 to 1", o.Ratio)
	}
	named := o.Endpoint != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	if !named && o.exporter == nil {
		return func(context.Context) error { return nil }, nil
	}
	exporter := o.exporter
	if exporter == nil {
		if exporter, err = otlptracegrpc.New(ctx, clientOptions(o)...); err != nil {
			return nil, fmt.Errorf("tracing: OTLP exporter: %w", err)
		}
	}
	p := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(describe(o.Service)), sdk.WithSampler(sampler(o.Ratio)))
	before, beforeText := otel.GetTracerProvider(), otel.GetTextMapPropagator()
	otel.SetTracerProvider(p)
	otel.SetTextMapPropagator(propagation.TraceContext{}) // no baggage: it would come from untrusted callers, and is not used
	recording.Store(true)
	return func(ctx context.Context) error {
		recording.Store(false)
		otel.SetTracerProvider(before)
		otel.SetTextMapPropagator(beforeText)
		return errors.Join(p.ForceFlush(ctx), p.Shutdown(ctx))
	}, nil
}

func clientOptions(o Options) []otlptracegrpc.Option {
	var opts []otlptracegrpc.Option
	if o.Endpoint != "" {
		opts = append(opts, otlptracegrpc.WithEndpoint(o.Endpoint))
	}
	if o.Insecure {
		opts = append(opts, otlptracegrpc.WithInsecure())
	}
	return opts
}

func describe(service string) *resource.Resource {
	if service == "" {
		if service = os.Getenv("OTEL_SERVICE_NAME"); service == "" {
			service = "goestimator"
		}
	}
	return resource.NewSchemaless(attribute.String("service.name", service), attribute.Int("process.pid", os.Getpid()))
}

func sampler(ratio float64) sdk.Sampler {
	if ratio == 0 {
		ratio = 1
	}
	return sdk.ParentBased(sdk.TraceIDRatioBased(ratio))
}
