package cluster

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/admission"
)

// Strangers who fill all places neither disconnect admitted tasks nor keep new ones out.
func TestStrangersFillAllPlacesOfANode(t *testing.T) {
	places := admission.NewPlaces(4, nil)
	first := &firstListener{}
	from, to := sockets(t, func(c *Config) {
		if c.Security.Token = "secret"; c.Listener != nil {
			first.Listener = c.Listener
			c.Listener = places.Listener(first)
		}
	}, echo())
	call := func() {
		t.Helper()
		f, err := from.Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{Header: []byte("h")})
		if err != nil {
			t.Fatal(err)
		}
		f.Release()
	}
	call()
	for range 20 {
		c, err := net.Dial("tcp", to.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	call()
	if first.closed.Load() {
		t.Error("the connection of a task was closed for strangers")
	}
}

// firstListener reports whether this side closes the first connection.
type firstListener struct {
	net.Listener
	closed atomic.Bool
	others bool
}

func (l *firstListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil || l.others {
		return c, err
	}
	l.others = true
	return &firstConn{c, l}, nil
}

type firstConn struct {
	net.Conn
	l *firstListener
}

func (c *firstConn) Close() error {
	c.l.closed.Store(true)
	return c.Conn.Close()
}
