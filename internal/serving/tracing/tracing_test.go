//go:build !notrace

package tracing

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats"
)

// record sets up tracing and returns a function that lists the spans ended so far.
func record(t *testing.T) func() map[string]tracetest.SpanStub {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	shutdown, err := Setup(t.Context(), Options{exporter: kept{exporter}})
	if err != nil {
		t.Fatal(err)
	}
	return func() map[string]tracetest.SpanStub {
		if err := shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		all := map[string]tracetest.SpanStub{}
		for _, s := range exporter.GetSpans() {
			all[s.Name] = s
		}
		return all
	}
}

// kept keeps its spans after shutdown.
type kept struct{ *tracetest.InMemoryExporter }

func (kept) Shutdown(context.Context) error { return nil }

var _ sdk.SpanExporter = kept{}

// The spans of a request are connected, continue the caller's trace and carry errors.
func TestSpans(t *testing.T) {
	ended := record(t)
	from := time.Now().Add(-time.Second)
	h := Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, end := Start(r.Context(), "run")
		Record(ctx, "queue", from, from.Add(time.Second))
		end(errors.New("bad luck"))
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	r := httptest.NewRequest(http.MethodPost, "/v1/models/m:predict", nil)
	r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	h.ServeHTTP(httptest.NewRecorder(), r)
	all := ended()
	request, run, queue := all["POST /v1/models/m:predict"], all["run"], all["queue"]
	if got := request.SpanContext.TraceID().String(); got != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("the request is of trace %s", got)
	}
	if run.Parent.SpanID() != request.SpanContext.SpanID() || queue.Parent.SpanID() != run.SpanContext.SpanID() {
		t.Error("spans do not hang together")
	}
	if run.Status.Code != codes.Error || run.Status.Description != "bad luck" {
		t.Errorf("the run's status is %v", run.Status)
	}
	if d := queue.EndTime.Sub(queue.StartTime); d != time.Second {
		t.Errorf("the queue took %v", d)
	}
}

func TestGRPC(t *testing.T) {
	ended := record(t)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.StatsHandler(StatsHandler()))
	healthpb.RegisterHealthServer(srv, health.NewServer())
	go func() { _ = srv.Serve(lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	_ = conn.Close()
	srv.GracefulStop()
	if all := ended(); all["grpc.health.v1.Health/Check"].SpanKind.String() != "server" {
		t.Errorf("got %v", all)
	}
}

// sink is an OTLP collector that counts spans.
type sink struct {
	collector.UnimplementedTraceServiceServer
	names chan string
}

func (s *sink) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	for _, rs := range r.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, span := range ss.Spans {
				s.names <- span.Name
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// Spans reach a collector named in the environment.
func TestOTLP(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	s := &sink{names: make(chan string, 10)}
	collector.RegisterTraceServiceServer(srv, s)
	go func() { _ = srv.Serve(lis) }()
	defer srv.Stop()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+lis.Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	shutdown, err := Setup(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, end := Start(ctx, "exported")
	end(nil)
	if err := shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if got := <-s.names; got != "exported" {
		t.Errorf("got %q", got)
	}
}

// No name in a request keeps a span from reaching the collector, or uses much memory.
func TestHostileNames(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	s := &sink{names: make(chan string, 10)}
	collector.RegisterTraceServiceServer(srv, s)
	go func() { _ = srv.Serve(lis) }()
	defer srv.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	shutdown, err := Setup(ctx, Options{Endpoint: lis.Addr().String(), Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	h := Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, end := Start(r.Context(), "run")
		end(errors.New(r.URL.Path))
	}))
	calls := StatsHandler()
	for _, name := range []string{"/\xff\n\x1b[31m", "/" + strings.Repeat("x", 1<<20)} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = name
		h.ServeHTTP(httptest.NewRecorder(), r)
		calls.HandleRPC(calls.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: name}), &stats.End{Error: errors.New(name)})
	}
	calls.HandleRPC(calls.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: "/service/method"}), &stats.End{})
	if err := shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	close(s.names)
	var names []string
	for n := range s.names {
		names = append(names, n)
	}
	slices.Sort(names)
	if want := []string{`GET /\xff\n\x1b[31m`, "GET /" + strings.Repeat("x", longest-1) + "...", "run", "run", "service/method"}; !slices.Equal(names, want) {
		t.Errorf("spans %q, expected %q", names, want)
	}
}

func TestSetup(t *testing.T) {
	if _, err := Setup(t.Context(), Options{Ratio: 2}); err == nil {
		t.Error("a ratio of 2 was taken")
	}
	for _, c := range []struct {
		ratio float64
		want  string
	}{{0, "AlwaysOnSampler"}, {0.25, "TraceIDRatioBased{0.25}"}} {
		if d := sampler(c.ratio).Description(); !strings.Contains(d, c.want) {
			t.Errorf("ratio %v: %s", c.ratio, d)
		}
	}
	if describe("x").String() == "" || len(clientOptions(Options{Endpoint: "a:1", Insecure: true})) != 2 {
		t.Error("options are lost")
	}
}

// Without a collector nothing is recorded, and spans cost next to nothing.
func BenchmarkOff(b *testing.B) {
	for b.Loop() {
		_, end := Start(b.Context(), "run")
		end(nil)
	}
}
