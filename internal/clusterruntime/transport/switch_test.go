package transport

import (
	"net"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
)

// TestServerOfAnotherKind: if a server is restarted without this transport, calls use gRPC, and vice versa.
func TestServerOfAnotherKind(t *testing.T) {
	r := serve(t, way{"direct", true, false})
	address := r.conn.address
	for _, direct := range []bool{false, true, false} {
		r.stop()
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		r.stop = r.start(l, nil, direct)
		r.becomes(direct)
		until(t, "a call", func() bool { // the first may still go to the old server
			_, err := call[rpcs.RunStepResponse](t.Context(), r, "RunStep", requestOf("", 1<<20), grpc.WaitForReady(true))
			if err != nil && status.Code(err) != codes.Unavailable {
				t.Error(err)
			}
			return err == nil
		})
		if r.conn.Direct() != direct || r.conn.GetState() != connectivity.Ready {
			t.Errorf("direct %v: expected %v; state %v", r.conn.Direct(), direct, r.conn.GetState())
		}
	}
}

// TestStrangeServer: a server that answers the offer, but not the preface, is called through gRPC.
func TestStrangeServer(t *testing.T) {
	for name, answer := range map[string]string{"closes": "", "another preface": "PGOEST2\n"} {
		r := serve(t, way{"gRPC", false, false})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		seen := make(chan struct{})
		go func() {
			defer close(seen)
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(answer))
			_ = c.Close()
		}()
		grpcAt := r.conn.address
		r.conn.address = l.Addr().String()
		r.conn.connect()
		<-seen
		until(t, "the attempt is over", func() bool {
			r.conn.mu.Lock()
			defer r.conn.mu.Unlock()
			return !r.conn.connecting
		})
		r.conn.address = grpcAt
		if r.echoed("by gRPC", 1<<20); r.conn.Direct() {
			t.Errorf("%s: calls go to it", name)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
