package cluster

import (
	"io"
	"net"
	"sync"
	"time"
)

// Split divides the connections of a listener between tasks of this project and others, by the first byte of a caller: gRPC without
// a greeting begins with "PRI". With TLS all connections belong to tasks. A port can thus outlive the node that serves its tasks.
type Split struct {
	from    net.Listener
	foreign *branch
	closed  chan struct{}
	done    sync.WaitGroup

	mu    sync.Mutex
	tasks *branch
	new   chan struct{} // closed when tasks is replaced
}

// splitTime is the time limit for a caller's first byte, and for a node to accept a task's connection.
const splitTime = 10 * time.Second

// NewSplit divides the connections of a listener until Close.
func NewSplit(l net.Listener) *Split {
	s := &Split{from: l, closed: make(chan struct{}), new: make(chan struct{})}
	s.foreign = s.branch()
	s.done.Go(s.accept)
	return s
}

// Foreign returns the listener for connections that begin like gRPC.
func (s *Split) Foreign() net.Listener { return s.foreign }

// Tasks returns a listener for all other connections. One returned earlier gets no more connections.
func (s *Split) Tasks() net.Listener {
	b := s.branch()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks = b
	close(s.new)
	s.new = make(chan struct{})
	return b
}

// Close closes the listener and both branches.
func (s *Split) Close() error {
	err := s.from.Close()
	close(s.closed)
	s.done.Wait()
	return err
}

func (s *Split) branch() *branch {
	return &branch{split: s, conns: make(chan net.Conn), ended: make(chan struct{})}
}

func (s *Split) accept() {
	for {
		c, err := s.from.Accept()
		if err != nil {
			return // closed: a TCP listener has no other permanent error
		}
		s.done.Go(func() {
			if !s.send(c) {
				_ = c.Close()
			}
		})
	}
}

// send passes a connection to the branch for its first byte.
func (s *Split) send(c net.Conn) bool {
	first := make([]byte, 1)
	stop := make(chan struct{})
	s.done.Go(func() { // Close ends the wait
		select {
		case <-s.closed:
			_ = c.SetReadDeadline(time.Now())
		case <-stop:
		}
	})
	_ = c.SetReadDeadline(time.Now().Add(splitTime))
	_, err := io.ReadFull(c, first)
	close(stop)
	if err != nil || c.SetReadDeadline(time.Time{}) != nil {
		return false
	}
	begun := &prefixedConn{Conn: c, prefix: first}
	if first[0] == 'P' {
		return s.foreign.take(begun, nil)
	}
	for until := time.After(splitTime); ; {
		s.mu.Lock()
		b, next := s.tasks, s.new
		s.mu.Unlock()
		if b != nil && b.take(begun, until) {
			return true
		}
		select {
		case <-next:
		case <-s.closed:
			return false
		case <-until:
			return false
		}
	}
}

// branch is a listener for some of the connections.
type branch struct {
	split *Split
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

// take passes a connection to Accept.
func (b *branch) take(c net.Conn, until <-chan time.Time) bool {
	select {
	case b.conns <- c:
		return true
	case <-b.ended:
	case <-b.split.closed:
	case <-until:
	}
	return false
}

// Accept implements net.Listener.
func (b *branch) Accept() (net.Conn, error) {
	select {
	case c := <-b.conns:
		return c, nil
	case <-b.ended:
	case <-b.split.closed:
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener. The port stays open.
func (b *branch) Close() error {
	b.once.Do(func() { close(b.ended) })
	return nil
}

// Addr implements net.Listener.
func (b *branch) Addr() net.Addr { return b.split.from.Addr() }
