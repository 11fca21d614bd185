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

// keepAliveGrace is how long a draining server still answers on open connections of the REST port. Its replies ask clients to
// close the connections. If the server closed a connection first, a request in transit would be lost.
const keepAliveGrace = 500 * time.Millisecond

// arrivalGrace is how long requests may still arrive once the server drains. Requests that are incomplete by then are refused, since a
// client that sends a byte from time to time would delay the end.
const arrivalGrace = 5 * time.Second

// refuseEvery is how often the server then looks for connections with incomplete requests.
const refuseEvery = 100 * time.Millisecond

// connections are the open connections of an HTTP server.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]bool // true: nothing received yet
	none chan struct{}     // closed when no connection is open; nil while nobody waits
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

// closeUnused closes connections on which nothing was received: Shutdown would give them five seconds.
func (c *connections) closeUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn, unused := range c.open {
		if unused {
			_ = conn.Close()
		}
	}
}

// refuse stops reading, until ctx ends, from connections that are not in use: their requests are incomplete, or were refused before they were complete.
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

// closeOnDrain asks clients in each reply to close the connection, once the server drains.
func (s *Server) closeOnDrain(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// stopREST closes the port, answers on open connections for the keep-alive grace and lets requests finish. It reports
// whether they did before ctx ended. The port is closed first: otherwise clients would replace closed connections by new
// ones, and the system would reset connections not yet accepted.
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
	if err == nil || errors.Is(err, net.ErrClosed) { // Serve has not yet noticed that the port is closed
		return true
	}
	_ = s.rest.Close() // abort what is left
	return false
}
