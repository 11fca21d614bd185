package server

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// TestTaskHangs: a call to a hanging task ends with UNAVAILABLE; a call to a task that answers continues.
func TestTaskHangs(t *testing.T) {
	for _, hangs := range []bool{true, false} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		let := make(chan struct{})
		asked := make(chan struct{}, 1000)
		g := grpc.NewServer(grpc.WaitForHandlers(true))
		service.Register(g, service.Worker, []service.Method{
			service.Bind("RunGraph", func(ctx context.Context, _ *rpcs.RunGraphRequest) (*rpcs.RunGraphResponse, error) {
				select {
				case <-let:
				case <-ctx.Done():
				}
				return &rpcs.RunGraphResponse{}, nil
			}),
			service.Bind("GetStatus", func(ctx context.Context, _ *rpcs.GetStatusRequest) (*rpcs.GetStatusResponse, error) {
				if hangs {
					<-ctx.Done()
				}
				asked <- struct{}{}
				return &rpcs.GetStatusResponse{}, nil
			}),
		})
		go func() { _ = g.Serve(l) }()
		conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		a := &alive{Remote: service.Remote{Conn: conn, Service: service.Worker}, task: "/job:ps/task:0", every: 10 * time.Millisecond, patience: time.Minute}
		if hangs {
			a.patience = 10 * time.Millisecond
		}
		go func() { // after three answers
			for range 3 {
				<-asked
			}
			close(let)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err = service.Ask[rpcs.RunGraphResponse](ctx, a, "RunGraph", &rpcs.RunGraphRequest{})
		cancel()
		if hangs && (status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "/job:ps/task:0 does not answer")) {
			t.Errorf("a task that hangs: %v", err)
		}
		if !hangs && err != nil {
			t.Errorf("a task that answers: %v", err)
		}
		for range 3 { // releases the helper
			asked <- struct{}{}
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		g.Stop()
	}
}
