package admission

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// TestPace: while many calls wait, connections wait in turn by address, each for a limited number of steps, and proceed when fewer wait.
func TestPace(t *testing.T) {
	places := NewPlaces(4, nil)
	p := &places.pace
	p.most, p.step, p.steps = 10, time.Microsecond, 7
	place := &Place{of: places}
	for _, c := range []struct {
		calls  int64
		called bool
		few    bool
	}{{10, true, true}, {11, true, false}, {10 * firstTimes, false, true}, {10*firstTimes + 1, false, false}} {
		p.backlog.Store(c.calls)
		place.called.Store(c.called)
		if few, err := p.wait(place); few != c.few || err != nil {
			t.Errorf("%d calls wait, it had one: %v: %v, %v", c.calls, c.called, few, err)
		}
	}
	lane := func(place *Place) *sync.Mutex { return &p.lanesOf(place)[maphash.Comparable(p.seed, place.from)%lanes] }
	lane(place).Lock()
	var passed sync.WaitGroup
	passed.Go(func() { p.wait(place) })
	known := &Place{of: places}
	known.had.Store(true)
	p.wait(known)
	for i := byte(1); ; i++ {
		other := &Place{of: places, from: netip.PrefixFrom(netip.AddrFrom4([4]byte{127, 0, 0, i}), 32)}
		if lane(other) != lane(place) {
			p.wait(other)
			break
		}
	}
	p.backlog.Store(10)
	lane(place).Unlock()
	passed.Wait()
}

// TestCrowdedConnections: in a crowd each connection is read, a little at a time, and HTTP/1 connections as usual.
func TestCrowdedConnections(t *testing.T) {
	places := NewPlaces(4, nil)
	places.pace.step = time.Microsecond
	places.pace.backlog.Store(mostBacklog + 1)
	for name, c := range map[string]struct {
		prepare func(*Place)
		read    int
	}{
		"fresh":  {func(p *Place) { p.called.Store(true) }, crowdedRead},
		"silent": {func(*Place) {}, firstRead},
		"known":  {func(p *Place) { p.called.Store(true); p.had.Store(true) }, crowdedRead},
		"HTTP/1": {func(p *Place) { ConnContext(t.Context(), &conn{p.raw, &address{nil, p}}) }, crowdedRead + 1},
	} {
		mine, theirs := net.Pipe()
		place := &Place{of: places, raw: theirs}
		c.prepare(place)
		go mine.Write(make([]byte, crowdedRead+1))
		if n, err := (&conn{theirs, &address{nil, place}}).Read(make([]byte, 1<<20)); n != c.read || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		mine.Close()
		theirs.Close()
	}
}

// TestCrowdedEnd: in a crowd the end of a connection is read at once, and a connection that is closed meanwhile stops waiting; otherwise a
// server that shuts down would wait for its connections in turn.
func TestCrowdedEnd(t *testing.T) {
	places := NewPlaces(4, nil)
	places.pace.step = time.Hour
	places.pace.backlog.Store(mostBacklog + 1)
	mine, theirs := net.Pipe()
	place := &Place{of: places, raw: theirs}
	place.called.Store(true)
	c := &conn{theirs, &address{nil, place}}
	mine.Close()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
	c.Close()
	if err := place.received(1); err != nil {
		t.Error(err)
	}
}

// TestCrowdedAway: in a crowd, the unread data of a client that has closed its connection is ignored.
func TestCrowdedAway(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells that a client has closed a connection before all is read")
	}
	places := NewPlaces(4, nil)
	places.pace.step = time.Microsecond
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	for _, crowded := range []bool{false, true} {
		mine, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := places.Listener(tcp).Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer theirs.Close()
		ConnPlace(theirs).called.Store(true)
		if _, err := mine.Write([]byte("xy")); err != nil {
			t.Fatal(err)
		}
		if crowded {
			places.pace.backlog.Store(mostBacklog + 1)
		}
		if n, err := theirs.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("crowded: %v: an open connection: %d, %v", crowded, n, err)
		}
		mine.Close()
		for !peerClosed(ConnPlace(theirs).raw) {
			time.Sleep(time.Millisecond)
		}
		if n, err := theirs.Read(make([]byte, 1)); n != 1 && !crowded || errors.Is(err, errLeft) != crowded {
			t.Errorf("crowded: %v: one that its client has closed: %d, %v", crowded, n, err)
		}
	}
}

// TestLeftCalls: calls wait until they start, and again once their connection is closed.
func TestLeftCalls(t *testing.T) {
	places := NewPlaces(4, nil)
	place := &Place{of: places}
	waiting := func(want int64, when string) {
		t.Helper()
		if got := places.pace.backlog.Load(); got != want {
			t.Errorf("%s: %d wait, expected %d", when, got, want)
		}
	}
	for range 3 {
		place.callCame()
	}
	waiting(3, "three have come")
	place.callStarts()
	place.callStarts()
	waiting(1, "two have started")
	place.callOver(false)
	place.callOver(true)
	waiting(0, "two have ended; one had not started")
	place.callsLeft()
	place.callsLeft()
	waiting(1, "the connection is closed")
	place.callCame()
	waiting(3, "a call came late")
	place.callStarts()
	waiting(2, "it has started")
	place.callOver(false)
	place.callOver(false)
	waiting(0, "all have ended")
}

// TestPerConnection: calls are counted by connection, even from many goroutines at once, and no count is left over.
func TestPerConnection(t *testing.T) {
	c := perConnection{limit: 3, most: 4}
	at := func(port int) context.Context {
		return peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{Port: port}})
	}
	ctx := at(1)
	var ends []func()
	for range 3 {
		end, err := c.begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	if _, err := c.begin(ctx); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a call too many: %v", err)
	}
	other := at(2)
	if end, err := c.begin(other); err != nil {
		t.Errorf("another connection: %v", err)
	} else {
		if _, err := c.begin(other); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("a second call beside four: %v", err)
		}
		for port := range 3 { // each connection may have one
			if end, err := c.begin(at(3 + port)); err != nil {
				t.Errorf("a first call beside four: %v", err)
			} else {
				end()
			}
		}
		end()
	}
	for _, end := range ends {
		end()
	}
	var most atomic.Int64
	var going sync.WaitGroup
	for range 8 {
		going.Go(func() {
			for range 2000 {
				end, err := c.begin(ctx)
				if err != nil {
					continue
				}
				if n := most.Add(1); n > c.limit {
					t.Errorf("%d calls at once", n)
				}
				most.Add(-1)
				end()
			}
		})
	}
	going.Wait()
	c.calls.Range(func(key, count any) bool {
		t.Errorf("%v has still a count of %d", key, count.(*atomic.Int64).Load())
		return true
	})
}

// TestClosedBeforeAccept: a connection that its client closed before it is accepted does not reach a gRPC server. It does reach an HTTP
// server, whose clients may close their side after a request and read the reply.
func TestClosedBeforeAccept(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells that a client has closed a connection before all is read")
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	places := NewPlaces(4, nil)
	accept := func(l net.Listener) string {
		left, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		port := left.LocalAddr().String()
		if _, err := left.Write([]byte("left")); err != nil || left.Close() != nil {
			t.Fatal(err)
		}
		open, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if c.RemoteAddr().String() == port {
			return "the closed one"
		}
		return "the open one"
	}
	if got := accept(places.GRPCListener(tcp, nil)); got != "the open one" {
		t.Errorf("gRPC: %s", got)
	}
	if got := accept(places.ListenerOf(tcp, nil)); got != "the closed one" {
		t.Errorf("HTTP: %s", got)
	}
}
