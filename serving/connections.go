package serving

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission"
)

// keepAliveGrace is how long a draining server still answers on open connections of the REST port: its replies ask clients to
// close them. If the server closed a connection first, a request on its way would be lost.
const keepAliveGrace = 500 * time.Millisecond

// arrivalGrace is how long requests may arrive once the server drains. Those that have begun and have not come whole by then are refused: a
// client that sends a byte now and then would hold up the end.
const arrivalGrace = 5 * time.Second

// refuseEvery is how often connections are looked for then whose requests have not come whole.
const refuseEvery = 100 * time.Millisecond

// connections are the open connections of an HTTP server.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]bool // true: nothing has come yet
	none chan struct{}     // closed when there is none; nil while nobody waits
}

// setState is an http.Server's ConnState.
func (c *connections) setState(conn net.Conn, now http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch now {
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
		if len(c.open) == 0 && c.none != nil {
			close(c.none)
			c.none = nil
		}
	default:
		if c.open == nil {
			c.open = map[net.Conn]bool{}
		}
		c.open[conn] = now == http.StateNew
	}
}

// wait returns when there is no connection, or when ctx ends.
func (c *connections) wait(ctx context.Context) {
	c.mu.Lock()
	if len(c.open) == 0 {
		c.mu.Unlock()
		return
	}
	if c.none == nil {
		c.none = make(chan struct{})
	}
	none := c.none
	c.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
}

// closeUnused closes connections on which nothing has come: Shutdown would give them five seconds.
func (c *connections) closeUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn, unused := range c.open {
		if unused {
			_ = conn.Close()
		}
	}
}

// refuse reads no more from connections that are not in use, until ctx ends: their requests have not come whole, or were refused before that.
func (c *connections) refuse(ctx context.Context) {
	for ctx.Err() == nil {
		c.mu.Lock()
		for conn := range c.open {
			if !admission.ConnPlace(conn).InUse() {
				_ = conn.SetReadDeadline(time.Now())
			}
		}
		c.mu.Unlock()
		select {
		case <-time.After(refuseEvery):
		case <-ctx.Done():
		}
	}
}

// closeOnDrain asks clients, in each reply, to close their connection once the server drains.
func (s *Server) closeOnDrain(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// stopREST closes the port, answers on open connections for the keep-alive grace and lets requests finish. It reports
// whether they did before ctx ended. The port is closed first: otherwise clients would open new connections in place of
// the closed ones, and the system would cut off connections not accepted yet.
func (s *Server) stopREST(ctx context.Context) bool {
	for _, l := range s.listeners.rest {
		_ = l.Close() // Shutdown does it again
	}
	last, end := context.WithTimeout(ctx, min(s.keepAliveGrace, s.o.Drain/4))
	defer end()
	s.connections.wait(last)
	s.connections.closeUnused()
	stopped, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.ending, func() { s.connections.refuse(stopped) })()
	err := s.rest.Shutdown(ctx)
	if err == nil || errors.Is(err, net.ErrClosed) { // Serve has not noticed yet that the port is closed already
		return true
	}
	_ = s.rest.Close() // what is left is cut off
	return false
}
