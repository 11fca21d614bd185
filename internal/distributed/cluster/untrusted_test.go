package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // as in the binary, whose model server uses it
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/platform/admission/admissiontest"
)

// Nothing is received from a caller without the token, whether it sends a task's greeting or not; the health service,
// which needs no token, receives little.
func TestNothingIsReceivedFromUntrusted(t *testing.T) {
	if encoding.GetCompressor("gzip") == nil {
		t.Fatal("no gzip")
	}
	from, to := sockets(t, func(c *Config) { c.Security.Token = "secret" }, echo())
	const room = 16 << 20
	untrusted := admissiontest.NewRawClient(t, to.Addr())
	bomb := admissiontest.Zeros(t, 256)
	for method, want := range map[string]string{"/test.Echo/Echo": "12", "/test.Nobody/Echo": "12", "/grpc.health.v1.Health/Check": "8", "/grpc.health.v1.Health/Watch": "8", "/grpc.health.v1.Health/List": "8"} {
		for name, body := range map[string]io.Reader{
			"gzip": bytes.NewReader(admissiontest.Framed(true, len(bomb), bomb)), "small": bytes.NewReader(admissiontest.Framed(true, 4000, bomb[:4000])), "plain": admissiontest.Endless(256 << 20),
		} {
			if r := untrusted.Call(t, method, body, "Grpc-Encoding", "gzip"); r.Status != want || r.Allocated > room || r.Sent > room {
				t.Errorf("%s, %s: %+v, expected status %s", method, name, r, want)
			}
		}
	}
	conn := rawConn(t, from, to)
	message := make([]byte, 256<<20)
	for _, token := range []string{"", "Bearer guess"} {
		for _, method := range []string{"/test.Echo/Echo", "/test.Nobody/Echo"} {
			ctx := testContext(t)
			if token != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, tokenKey, token)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := conn.Invoke(ctx, method, message, new(int), grpc.ForceCodecV2(rawCodec{}))
			runtime.ReadMemStats(&after)
			if cost := after.TotalAlloc - before.TotalAlloc; status.Code(err) != codes.Unauthenticated || cost > room {
				t.Errorf("%s with %q: %v, %d bytes allocated", method, token, err, cost)
			}
		}
	}
	if r, err := healthpb.NewHealthClient(conn).Check(testContext(t), &healthpb.HealthCheckRequest{}, grpc.UseCompressor("gzip")); err != nil || r.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", r, err)
	}
}

// A refused call leaves nothing behind, however late its deadline is.
func TestRefusedCallsLeaveNothing(t *testing.T) {
	from, to := sockets(t, func(c *Config) { c.Security.Token = "secret" }, echo())
	conn := rawConn(t, from, to)
	ctx := testContext(t)
	refused := func(n int) {
		for range n {
			err := conn.Invoke(metadata.AppendToOutgoingContext(ctx, "grpc-timeout", "99999999H"), "/test.Echo/Echo", []byte{}, new(int), grpc.ForceCodecV2(rawCodec{}))
			if status.Code(err) != codes.Unauthenticated {
				t.Fatal(err)
			}
		}
	}
	objects := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapObjects)
	}
	const calls = 2000
	refused(calls)
	before := objects()
	refused(calls)
	if left := objects() - before; left > calls {
		t.Errorf("%d objects of %d refused calls are left", left, calls)
	}
}

// Any bytes from a peer are shown as text.
func TestErrorsOfPeersAreText(t *testing.T) {
	const hostile = "no\nready grpc=127.0.0.1:8500\x1b[2J\u009b31m\u202e"
	s := Service{Name: "test.Hostile", Unary: map[string]Handler{"Say": func(context.Context, *Frame) (*Frame, error) {
		return nil, status.Error(codes.InvalidArgument, hostile)
	}}}
	from, _ := sockets(t, nil, s)
	_, err := from.Call(testContext(t), ps0, "/test.Hostile/Say", &Frame{})
	var of *PeerError
	if !errors.As(err, &of) || !strings.Contains(err.Error(), `no\nready grpc=127.0.0.1:8500\x1b[2J\u009b31m\u202e`) || strings.ContainsAny(err.Error(), "\n\x1b\u009b\u202e") {
		t.Errorf("got %q", err)
	}
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("the code is %v", status.Code(err))
	}
}
