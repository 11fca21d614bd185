package admission_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/platform/admission/admissiontest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
)

// A call whose message does not arrive, or not completely, ends; a call whose message has arrived continues.
func TestLimitedTimeout(t *testing.T) {
	const within = 50 * time.Millisecond
	address, c := serve(t, func(s *grpc.Server) {
		healthpb.RegisterHealthServer(admission.Limited{ServiceRegistrar: s, Limit: 100, Timeout: within}, health.NewServer())
	})
	ctx := long(t)
	w, err := c.Watch(ctx, &healthpb.HealthCheckRequest{})
	for err == nil {
		if _, err = w.Recv(); status.Code(err) != codes.DeadlineExceeded || ctx.Err() != nil {
			break
		}
		w, err = c.Watch(ctx, &healthpb.HealthCheckRequest{}) // the machine was too slow
	}
	if err != nil {
		t.Fatal(err)
	}
	raw := admissiontest.NewRawClient(t, address)
	for name, sent := range map[string]string{"nothing": "", "half a header": "\x00\x00", "half a message": "\x00\x00\x00\x00\x0a\x0a"} {
		for _, method := range []string{"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"} {
			body, done := admissiontest.Stalled(sent)
			if r := raw.Call(t, method, body, "Grpc-Timeout", "10H"); r.Status != "4" {
				t.Errorf("%s, %s: %+v, expected 4 (DEADLINE_EXCEEDED)", method, name, r)
			}
			done()
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := w.Recv()
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Errorf("a stream whose message had come ended: %v", err)
	case <-time.After(2 * within):
	}
}

// A connection may have a limited number of running calls; other connections are not affected.
func TestLimitedCalls(t *testing.T) {
	const each = 3
	address, c := serve(t, func(s *grpc.Server) {
		healthpb.RegisterHealthServer(admission.Limited{ServiceRegistrar: s, Limit: 100, MaxCalls: each}, health.NewServer())
	})
	watch := func() (stop context.CancelFunc, err error) {
		ctx, stop := context.WithCancel(long(t))
		w, err := c.Watch(ctx, &healthpb.HealthCheckRequest{})
		if err == nil {
			_, err = w.Recv()
		}
		return stop, err
	}
	var stops []context.CancelFunc
	for i := range each {
		stop, err := watch()
		if err != nil {
			t.Fatalf("stream %d: %v", i, err)
		}
		stops = append(stops, stop)
	}
	if _, err := watch(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a stream too many: %v", err)
	}
	if _, err := c.Check(long(t), &healthpb.HealthCheckRequest{}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a call too many: %v", err)
	}
	other, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := healthpb.NewHealthClient(other).Check(long(t), &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("on another connection: %v", err)
	}
	stops[0]()
	for ctx := long(t); ; {
		_, err := c.Check(ctx, &healthpb.HealthCheckRequest{})
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("after a stream ended: %v", err)
		}
	}
}

// A stream with several messages has short ones, and may end.
func TestLimitedStream(t *testing.T) {
	address, _ := serve(t, func(s *grpc.Server) {
		brief := admission.Limited{ServiceRegistrar: s, Limit: 100}
		reflection.Register(struct {
			admission.Limited
			reflection.ServiceInfoProvider
		}{brief, s})
	})
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := reflectionpb.NewServerReflectionClient(conn)
	ask := func(s reflectionpb.ServerReflection_ServerReflectionInfoClient, name string) error {
		r := &reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}}
		if err := s.Send(r); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		_, err := s.Recv()
		return err
	}
	s, err := client.ServerReflectionInfo(long(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := ask(s, "grpc.reflection.v1.ServerReflection"); err != nil {
			t.Error(err)
		}
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if s, err = client.ServerReflectionInfo(long(t)); err != nil {
		t.Fatal(err)
	}
	if err := ask(s, strings.Repeat("x", 100)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a long message: %v", err)
	}
}
