package calls_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/calls"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// A service whose calls a task tracks, before any call.
func Example() {
	c := calls.New(calls.Options{Task: "/job:ps/task:0"})
	healthpb.RegisterHealthServer(c.Through(grpc.NewServer()), health.NewServer())
	fmt.Println(c.Idle() > 0, c.Drain(context.Background()))
	// Output: true 0
}
