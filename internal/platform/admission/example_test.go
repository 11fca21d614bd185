package admission_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/platform/admission"
)

// A server whose calls need a header, which is checked before a message is received.
func Example() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	s := grpc.NewServer()
	gate := admission.Gate{ServiceRegistrar: s, Admit: func(context.Context, string) error {
		return status.Error(codes.Unauthenticated, "no token")
	}}
	grpc_health_v1.RegisterHealthServer(gate, health.NewServer())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = s.Serve(l) }() // until Stop
	defer s.Stop()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	fmt.Println(status.Code(err))
	// Output: Unauthenticated
}
