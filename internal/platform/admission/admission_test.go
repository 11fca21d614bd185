package admission_test

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/platform/admission/admissiontest"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server with the services that register adds.
func serve(t *testing.T, register func(*grpc.Server), opts ...grpc.ServerOption) (address string, client healthpb.HealthClient) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(opts...)
	register(s)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return l.Addr().String(), healthpb.NewHealthClient(conn)
}

func long(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(stop)
	return ctx
}

// calls records what interceptors see.
type calls struct {
	mu   sync.Mutex
	seen []string
}

func (c *calls) note(method string, message bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := status.Code(err).String() + " " + method
	if message {
		text += " with a message"
	}
	c.seen = append(c.seen, text)
}

func (c *calls) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	resp, err := next(ctx, req)
	c.note(info.FullMethod, req != nil, err)
	return resp, err
}

func (c *calls) stream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	err := next(srv, s)
	c.note(info.FullMethod, false, err)
	return err
}

// Calls are admitted by their headers; interceptors also see refused calls, without a message.
func TestGate(t *testing.T) {
	admit := func(ctx context.Context, method string) error {
		if !slices.Equal(metadata.ValueFromIncomingContext(ctx, "pass"), []string{method}) {
			return status.Error(codes.Unauthenticated, "no pass for "+method)
		}
		return nil
	}
	var with calls
	for _, opts := range [][]grpc.ServerOption{nil, {grpc.UnaryInterceptor(with.unary), grpc.StreamInterceptor(with.stream)}} {
		_, c := serve(t, func(s *grpc.Server) {
			healthpb.RegisterHealthServer(admission.Gate{ServiceRegistrar: s, Admit: admit}, health.NewServer())
		}, opts...)
		ctx := long(t)
		if _, err := c.Check(ctx, &healthpb.HealthCheckRequest{}); status.Code(err) != codes.Unauthenticated || !strings.HasSuffix(err.Error(), "no pass for /grpc.health.v1.Health/Check") {
			t.Errorf("a call: %v", err)
		}
		if _, err := c.Check(metadata.AppendToOutgoingContext(ctx, "pass", "/grpc.health.v1.Health/Check"), &healthpb.HealthCheckRequest{}); err != nil {
			t.Errorf("a call with a pass: %v", err)
		}
		if w, err := c.Watch(ctx, &healthpb.HealthCheckRequest{}); err != nil {
			t.Error(err)
		} else if _, err := w.Recv(); status.Code(err) != codes.Unauthenticated {
			t.Errorf("a stream: %v", err)
		}
		watching, stop := context.WithCancel(metadata.AppendToOutgoingContext(ctx, "pass", "/grpc.health.v1.Health/Watch"))
		if w, err := c.Watch(watching, &healthpb.HealthCheckRequest{}); err != nil {
			t.Error(err)
		} else if _, err := w.Recv(); err != nil {
			t.Errorf("a stream with a pass: %v", err)
		}
		stop()
	}
	with.mu.Lock()
	defer with.mu.Unlock()
	want := []string{"Unauthenticated /grpc.health.v1.Health/Check", "OK /grpc.health.v1.Health/Check with a message", "Unauthenticated /grpc.health.v1.Health/Watch"}
	if len(with.seen) < len(want) || !slices.Equal(with.seen[:len(want)], want) {
		t.Errorf("interceptors saw %q, expected %q", with.seen, want)
	}
}

// Messages of up to the limit are received, plain and compressed; larger ones are not received at all.
func TestLimited(t *testing.T) {
	const limit = 100
	address, c := serve(t, func(s *grpc.Server) {
		h := health.NewServer()
		h.SetServingStatus(strings.Repeat("s", limit-2), healthpb.HealthCheckResponse_SERVING)
		healthpb.RegisterHealthServer(admission.Limited{ServiceRegistrar: s, Limit: limit}, h)
	})
	for _, how := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
		for length, want := range map[int]codes.Code{0: codes.OK, 1: codes.NotFound, limit - 2: codes.OK, limit - 1: codes.ResourceExhausted, 1 << 20: codes.ResourceExhausted} {
			if _, err := c.Check(long(t), &healthpb.HealthCheckRequest{Service: strings.Repeat("s", length)}, how...); status.Code(err) != want {
				t.Errorf("%d bytes, compressed %v: %v, expected %v", length+2, how != nil, err, want)
			}
			w, err := c.Watch(long(t), &healthpb.HealthCheckRequest{Service: strings.Repeat("s", length)}, how...)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Recv(); status.Code(err) != want && want != codes.NotFound {
				t.Errorf("a stream of %d bytes, compressed %v: %v, expected %v", length+2, how != nil, err, want)
			}
		}
	}
	raw := admissiontest.NewRawClient(t, address)
	for name, c := range map[string]struct {
		body   []byte
		header string
		want   string
	}{
		"nothing":                {nil, "gzip", "13"},
		"half a header":          {[]byte{0, 0}, "gzip", "13"},
		"half a message":         {admissiontest.Framed(false, 10, []byte{10}), "gzip", "13"},
		"no message of its type": {admissiontest.Framed(false, 1, []byte{255}), "gzip", "13"},
		"no gzip":                {admissiontest.Framed(true, 4, []byte("gzip")), "gzip", "13"},
		"cut gzip":               {admissiontest.Framed(true, 90, admissiontest.Zeros(t, 1)), "gzip", "8"},
		"compressed, says no":    {admissiontest.Framed(true, 1, []byte{1}), "identity", "13"},
		"an unknown compression": {admissiontest.Framed(true, 1, []byte{1}), "zip", "12"},
		"empty":                  {admissiontest.Framed(false, 0, nil), "gzip", "0"},
	} {
		if r := raw.Call(t, "/grpc.health.v1.Health/Check", bytes.NewReader(c.body), "Grpc-Encoding", c.header); r.Status != c.want {
			t.Errorf("%s: %+v, expected %s", name, r, c.want)
		}
	}
}
