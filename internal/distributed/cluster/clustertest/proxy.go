package clustertest

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy forwards TCP connections to a target, and disturbs them. It is closed
// when the test ends.
type Proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu    sync.Mutex
	open  chan struct{} // closed when bytes pass again; nil: they pass
	cut   bool
	delay time.Duration
	flips [2]int64 // by direction: the number of the byte to damage, from 1; 0: none
	conns map[net.Conn]struct{}
	done  chan struct{}
}

// NewProxy starts a proxy to a host:port on a free port of loopback.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{listener: l, target: target, conns: map[net.Conn]struct{}{}, done: make(chan struct{})}
	p.running.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// Addr returns where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Drop makes the proxy a black hole: connections stay open and are still
// accepted, but nothing passes.
func (p *Proxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = make(chan struct{})
	}
}

// Delay makes every piece that passes wait this long.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Way is a direction through a proxy.
type Way int

// The directions.
const (
	ToTarget Way = iota
	FromTarget
)

// Damage flips a bit of the byte after the next n bytes in a direction, on any
// connection. It causes one fault: call Damage again for the next.
func (p *Proxy) Damage(w Way, after int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flips[w] = after + 1
}

// Damaged reports whether the byte of the last Damage has passed.
func (p *Proxy) Damaged(w Way) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flips[w] == 0
}

// flip damages the marked byte if it is in b.
func (p *Proxy) flip(w Way, b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch n := p.flips[w]; {
	case n == 0:
	case n > int64(len(b)):
		p.flips[w] = n - int64(len(b))
	default:
		b[n-1] ^= 1 << (n % 8)
		p.flips[w] = 0
	}
}

// Cut closes all connections, and new ones at once.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	p.closeConns()
}

// Heal ends Drop, Delay and Cut.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.delay = false, 0
	if p.open != nil {
		close(p.open)
		p.open = nil
	}
}

func (p *Proxy) close() {
	close(p.done)
	p.listener.Close()
	p.mu.Lock()
	p.cut = true
	p.closeConns()
	p.mu.Unlock()
	p.running.Wait()
}

func (p *Proxy) closeConns() {
	for c := range p.conns {
		c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.forward(c) })
	}
}

// hold registers a connection for Cut, and reports whether it may be used.
func (p *Proxy) hold(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) drop(c net.Conn) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *Proxy) forward(from net.Conn) {
	if !p.hold(from) {
		return
	}
	defer p.drop(from)
	if !p.pass() {
		return
	}
	to, err := net.Dial("tcp", p.target)
	if err != nil || !p.hold(to) {
		return
	}
	defer p.drop(to)
	var both sync.WaitGroup
	for way, ends := range [][2]net.Conn{ToTarget: {from, to}, FromTarget: {to, from}} {
		both.Go(func() {
			_, _ = io.Copy(ends[1], &disturbed{ends[0], p, Way(way)})
			from.Close() // the end of one direction ends both: tasks do not half-close
			to.Close()
		})
	}
	both.Wait()
}

// pass waits until bytes may pass; it reports false when the proxy is closed.
func (p *Proxy) pass() bool {
	p.mu.Lock()
	open, delay := p.open, p.delay
	p.mu.Unlock()
	if open == nil {
		open = closed
	}
	for _, wait := range []<-chan struct{}{after(delay), open} {
		select {
		case <-wait:
		case <-p.done:
			return false
		}
	}
	return true
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func after(d time.Duration) <-chan struct{} {
	if d <= 0 {
		return closed
	}
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

// disturbed reads the data that the proxy lets pass.
type disturbed struct {
	conn  net.Conn
	proxy *Proxy
	way   Way
}

func (s *disturbed) Read(b []byte) (int, error) {
	n, err := s.conn.Read(b)
	s.proxy.flip(s.way, b[:n])
	if !s.proxy.pass() {
		return 0, io.EOF
	}
	return n, err
}
