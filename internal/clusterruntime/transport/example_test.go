package transport_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// A service on a port that gRPC and this transport share.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	direct := transport.NewServer()
	defer direct.Stop()
	server := grpc.NewServer(direct.ServerOptions(nil)...)
	defer server.Stop()
	services := health.NewServer()
	healthpb.RegisterHealthServer(server, services)
	healthpb.RegisterHealthServer(direct, services)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = server.Serve(l) }() // until Stop
	conn, err := transport.NewConn(l.Addr().String(), transport.Options{Credentials: insecure.NewCredentials()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	for !conn.Direct() { // the first calls go by gRPC
		if _, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
			break
		}
	}
	fmt.Println(err)
	// Output: <nil>
}
