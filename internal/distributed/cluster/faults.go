package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// link is the connection between two tasks, in both directions.
type link struct {
	mu    sync.Mutex
	cut   bool
	delay time.Duration
	open  chan struct{} // closed while bytes pass; nil: they pass
	conns map[*faultyConn]struct{}
}

var errCut = errors.New("the connection is cut")

// Cut breaks the connections between two tasks, and lets them make no new ones.
func (f *Faults) Cut(a, b Task) {
	l := f.link(a, b)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for c := range l.conns {
		c.Conn.Close()
	}
}

// Drop makes the network between two tasks a black hole: nothing passes, and
// neither side is informed.
func (f *Faults) Drop(a, b Task) {
	l := f.link(a, b)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = make(chan struct{})
	}
}

// Delay makes every read, write and attempt to connect between two tasks take
// that much longer.
func (f *Faults) Delay(a, b Task, d time.Duration) {
	l := f.link(a, b)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = d
}

// Heal ends Cut, Drop and Delay between two tasks. Data written during Drop
// then arrives, as with TCP.
func (f *Faults) Heal(a, b Task) {
	l := f.link(a, b)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.delay = false, 0
	if l.open != nil {
		close(l.open)
		l.open = nil
	}
}

func (f *Faults) link(a, b Task) *link {
	if a.String() > b.String() {
		a, b = b, a
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.links[[2]Task{a, b}]
	if l == nil {
		l = &link{conns: map[*faultyConn]struct{}{}}
		f.links[[2]Task{a, b}] = l
	}
	return l
}

func (f *Faults) dial(ctx context.Context, from, to Task) (net.Conn, error) {
	l := f.link(from, to)
	if err := errors.Join(l.wait(ctx.Done()), l.pass(ctx.Done())); err != nil {
		return nil, err
	}
	f.mu.Lock()
	listener := f.listeners[to]
	f.mu.Unlock()
	if listener == nil {
		return nil, fmt.Errorf("%v does not listen", to)
	}
	c, err := listener.dial(ctx)
	if err != nil {
		return nil, err
	}
	fc := &faultyConn{Conn: c, link: l, done: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		c.Close()
		return nil, errCut
	}
	l.conns[fc] = struct{}{}
	return fc, nil
}

// pass waits until bytes may pass, or done.
func (l *link) pass(done <-chan struct{}) error {
	l.mu.Lock()
	cut, open := l.cut, l.open
	l.mu.Unlock()
	if cut {
		return errCut
	}
	if open != nil {
		select {
		case <-open:
		case <-done:
			return net.ErrClosed
		}
	}
	return nil
}

// wait lets the link's delay pass, or done.
func (l *link) wait(done <-chan struct{}) error {
	l.mu.Lock()
	delay := l.delay
	l.mu.Unlock()
	if delay <= 0 {
		return nil
	}
	select {
	case <-time.After(delay):
		return nil
	case <-done:
		return net.ErrClosed
	}
}

// faultyConn is a connection over a link.
type faultyConn struct {
	net.Conn
	link *link
	done chan struct{}
	once sync.Once
}

func (c *faultyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if e := errors.Join(c.link.wait(c.done), c.link.pass(c.done)); e != nil {
		return 0, e
	}
	return n, err
}

func (c *faultyConn) Write(p []byte) (int, error) {
	if err := errors.Join(c.link.wait(c.done), c.link.pass(c.done)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *faultyConn) Close() error {
	c.once.Do(func() {
		close(c.done)
		c.link.mu.Lock()
		delete(c.link.conns, c)
		c.link.mu.Unlock()
	})
	return c.Conn.Close()
}
