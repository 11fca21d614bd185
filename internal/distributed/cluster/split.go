package cluster

import (
	"io"
	"net"
	"sync"
	"time"
)

// Split divides the connections of a listener between tasks of this project and others, by the first byte that a caller sends: gRPC
// without a greeting begins with "PRI". With TLS all connections are tasks'. It lets a port outlive the node that serves its tasks.
type Split struct {
	from    net.Listener
	foreign *branch
	closed  chan struct{}
	done    sync.WaitGroup

	mu    sync.Mutex
	tasks *branch
	new   chan struct{} // closed when tasks is another one
}

// splitTime is how long a caller may take to send its first byte, and how long a task's connection waits for a node that accepts it.
const splitTime = 10 * time.Second

// NewSplit divides the connections of a listener until Close.
func NewSplit(l net.Listener) *Split {
	s := &Split{from: l, closed: make(chan struct{}), new: make(chan struct{})}
	s.foreign = s.branch()
	s.done.Go(s.accept)
	return s
}

// Foreign returns the listener of connections that begin as gRPC does.
func (s *Split) Foreign() net.Listener { return s.foreign }

// Tasks returns a listener of all other connections. One that was returned earlier gets none any more.
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
			return // closed; a listener of TCP has no other lasting error
		}
		s.done.Go(func() {
			if !s.send(c) {
				_ = c.Close()
			}
		})
	}
}

// send hands a connection to the branch that its first byte says.
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

// branch is a listener of some of the connections.
type branch struct {
	split *Split
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

// take hands a connection to Accept.
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
