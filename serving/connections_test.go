package serving

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"
)

// TestKeptConnectionsAreClosedByAReply: a client that keeps its connection open is asked to close it before the server
// does, so that none of its requests is lost.
func TestKeptConnectionsAreClosedByAReply(t *testing.T) {
	s := run(t, Options{Models: single(folders(t, "m/1"), "m"), Drain: 4 * waitLimit}).wait(t)
	s.keepAliveGrace = waitLimit
	conn, err := net.Dial("tcp", s.Addresses().REST)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(waitLimit))
	replies := bufio.NewReader(conn)
	ask := func() *http.Response {
		t.Helper()
		body := `{"instances": [1]}`
		fmt.Fprintf(conn, "POST /v1/models/m:predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		resp, err := http.ReadResponse(replies, nil)
		if err != nil {
			t.Fatal(err)
		}
		var text [100]byte
		n, _ := resp.Body.Read(text[:])
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %s", resp.Status, text[:n])
		}
		return resp
	}
	if ask().Close {
		t.Error("the connection is closed while the server runs")
	}
	s.stop()
	<-s.draining.Done()
	if !ask().Close {
		t.Error("the connection is kept while the server drains")
	}
	err = <-s.done // the wait ends with the last connection
	s.done <- err
	if err != nil {
		t.Error(err)
	}
}

// closeIgnoringListener is a listener whose Accept returns only once it has been closed twice.
type closeIgnoringListener struct {
	net.Listener
	mu     sync.Mutex
	closed int
	twice  chan struct{}
}

func (l *closeIgnoringListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.twice
	}
	return c, err
}

func (l *closeIgnoringListener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed++; l.closed == 2 {
		close(l.twice)
	}
	return l.Listener.Close()
}

// TestPortIsClosedBeforeItsServerNotices: a drain without requests succeeds, however late the loop that accepts
// connections notices that the port is closed.
func TestPortIsClosedBeforeItsServerNotices(t *testing.T) {
	s, err := New(Options{Models: single(folders(t, "m/1"), "m"), Loader: loader, Drain: waitLimit, Listen: Listen{Host: "127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	s.listeners.rest[0] = &closeIgnoringListener{Listener: s.listeners.rest[0], twice: make(chan struct{})}
	ctx, stop := context.WithCancel(testContext(t))
	defer stop()
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	<-s.Available()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestUnusedConnections: the end does not wait for a connection on which nothing was received, and closes no other one.
func TestUnusedConnections(t *testing.T) {
	var all connections
	unused, peer := net.Pipe()
	defer peer.Close()
	used, other := net.Pipe()
	defer other.Close()
	defer used.Close()
	all.setState(unused, http.StateNew)
	all.setState(used, http.StateNew)
	all.setState(used, http.StateActive)
	all.closeUnused()
	_ = peer.SetDeadline(time.Now().Add(waitLimit))
	if _, err := peer.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the unused connection: %v, expected its end", err)
	}
	if err := used.SetDeadline(time.Now()); err != nil {
		t.Errorf("the used connection: %v", err)
	}
}

// Connections on which nothing, or not enough, is received are closed, on both ports.
func TestSilentConnections(t *testing.T) {
	s, err := New(Options{Loader: loader, Models: single(folders(t, "m/1"), "m"), Listen: Listen{Host: "127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	s.handshakeTimeout = 50 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for name, to := range map[string]struct{ address, text string }{
		"gRPC": {s.Addresses().GRPC, ""}, "gRPC, half of a preface": {s.Addresses().GRPC, "PRI * HTTP/2.0\r\n"},
		"REST": {s.Addresses().REST, ""}, "REST, half of a header": {s.Addresses().REST, "GET / HTTP/1.1\r\nHost: loc"},
	} {
		conn, err := net.Dial("tcp", to.address)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(waitLimit))
		if _, err := io.WriteString(conn, to.text); err != nil {
			t.Error(err)
		}
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection stays open", name)
		}
		conn.Close()
	}
}

// Connections of all ports take places.
func TestPlacesForConnections(t *testing.T) {
	s := run(t, Options{Models: single(folders(t, "m/1"), "m")}).wait(t)
	for i, c := range []struct{ at, send string }{{s.Addresses().GRPC, ""}, {s.Addresses().REST, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"}} {
		conn, err := net.Dial("tcp", c.at)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = io.WriteString(conn, c.send)
		_, got := conn.Read(make([]byte, 9)) // the settings of gRPC, or the reply
		if err = errors.Join(err, got); err != nil || s.places.Open() != i+1 {
			t.Errorf("got %d places taken and %v, expected %d", s.places.Open(), err, i+1)
		}
	}
}
