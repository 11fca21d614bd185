package admission

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/goestimator/goestimator/internal/platform/admission/admissiontest"
)

// placesSeen records the places of accepted connections.
type placesSeen struct {
	net.Listener
	seen chan *Place
}

func (l placesSeen) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.seen <- ConnPlace(c)
	}
	return c, err
}

// TestCounter: each call is counted until its end. This includes calls that gRPC refuses, for their method or encoding, calls that arrive
// after their deadline, and calls of a closed connection. In a crowd, new connections are served.
func TestCounter(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	places := NewPlaces(100, nil)
	l := placesSeen{places.Listener(tcp), make(chan *Place, 2)}
	s := grpc.NewServer(CountCalls())
	healthpb.RegisterHealthServer(Counted(Limited{ServiceRegistrar: s, Limit: 100}), health.NewServer())
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	until := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %d calls wait", what, places.pace.backlog.Load())
			}
		}
	}

	const watch, going = "/grpc.health.v1.Health/Watch", 10
	client := admissiontest.DialFrames(t, tcp.Addr().String(), 1<<16)
	place := <-l.seen
	for _, method := range []string{watch, "/grpc.health.v1.Health/None", "/None/None", "/None", "None"} {
		for _, limit := range []string{"0n", "1n", "1u", "100u"} {
			client.Open(method, "grpc-timeout", limit)
		}
		if method != watch {
			client.Open(method)
		}
	}
	client.Open(watch, "grpc-encoding", "unknown")
	for range going {
		client.Open(watch)
	}
	until("calls that wait for their message", func() bool {
		return place.calls.Load() == 2*going && places.pace.backlog.Load() == 0
	})
	client.Close()
	until("the connection is closed", func() bool { return place.calls.Load() == 1 && places.pace.backlog.Load() == 0 })

	places.pace.backlog.Add(mostBacklog + 1)
	conn, err := grpc.NewClient(tcp.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if _, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("a probe in a crowd: %v", err)
	}
	until("the probe has its answer", func() bool { return places.pace.backlog.Load() == mostBacklog+1 })
}
