package transport

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestSilentPeer: a link to a peer that neither sends nor reads is closed, and its calls end with UNAVAILABLE.
func TestSilentPeer(t *testing.T) {
	for name, c := range map[string]struct {
		reads bool
		cause string
	}{"silent": {true, noAnswer}, "stuck": {false, doesNotRead}} {
		client, server := net.Pipe() // it has no buffer: a write waits for the reader
		l := newClientLink(newLink(client), "there")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			l.done.Go(func() { l.watch(time.Millisecond) })
			l.run()
		}()
		if c.reads {
			go func() {
				b := make([]byte, 1<<10)
				for {
					if _, err := server.Read(b); err != nil {
						return
					}
				}
			}()
		}
		_, began, err := l.invoke(context.Background(), "/a/b", nil, nil)
		if !began || status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), c.cause) {
			t.Errorf("%s: %v, %v", name, began, err)
		}
		<-ended
		_ = server.Close()
	}
}

// TestPing: a peer that answers pings is not lost.
func TestPing(t *testing.T) {
	r := serve(t, ways[1])
	l := r.conn.link.Load()
	before := l.in.came.Load()
	l.sendEmpty(ping, 0)
	until(t, "a pong", func() bool { return l.in.came.Load() > before })
	if r.echoed("after it"); !r.conn.Direct() {
		t.Error("the link is closed")
	}
}

// TestGracefulStop: running calls are answered before the connections are closed.
func TestGracefulStop(t *testing.T) {
	r := serve(t, ways[1])
	got := make(chan error)
	go func() {
		_, err := call[rpcs.CloseSessionResponse](t.Context(), r, "CloseSession", &rpcs.CloseSessionRequest{})
		got <- err
	}()
	<-r.began
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		r.direct.GracefulStop()
	}()
	until(t, "the stop waits", func() bool {
		r.direct.mu.Lock()
		defer r.direct.mu.Unlock()
		return r.direct.idle != nil
	})
	close(r.let)
	if err := <-got; err != nil {
		t.Error(err)
	}
	<-stopped
}
