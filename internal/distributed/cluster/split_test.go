package cluster

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/goestimator/goestimator/runconfig"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// TestSplit: a port serves tasks and gRPC callers, which keep their connection while one node replaces another.
func TestSplit(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	split := NewSplit(l)
	g := grpc.NewServer()
	healthpb.RegisterHealthServer(g, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- g.Serve(split.Foreign()) }()
	defer func() {
		g.Stop()
		if err := errors.Join(<-served, split.Close()); err != nil {
			t.Error(err)
		}
	}()
	conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	spec := runconfig.NewClusterSpec(map[string][]string{"ps": {l.Addr().String()}})
	watch, err := healthpb.NewHealthClient(conn).Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatalf("a caller of gRPC: %v", err)
	}
	from, err := Open(Config{Task: worker0, Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	for range 2 {
		n, err := Open(Config{Task: ps0, Address: l.Addr().String(), Listener: split.Tasks(), Spec: spec})
		if err != nil {
			t.Fatal(err)
		}
		n.Serve()
		for from.Healthy(ctx, ps0) != nil && ctx.Err() == nil { // it may see the previous node's end first
		}
		if err := errors.Join(ctx.Err(), n.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("after two nodes: %v", err)
	}
	ended := make(chan error, 1)
	go func() { _, err := watch.Recv(); ended <- err }()
	select {
	case err := <-ended:
		t.Errorf("the stream ended: %v", err)
	default:
	}
	cancel()
	<-ended
}
