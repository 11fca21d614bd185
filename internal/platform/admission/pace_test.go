package admission

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// TestPace: while there are too many goroutines connections wait, one at a time, and pass when there are fewer.
func TestPace(t *testing.T) {
	var now, asked atomic.Int64
	p := pace{most: 10, step: time.Microsecond, goroutines: func() int { asked.Add(1); return int(now.Load()) }}
	two, here := func() int { return 2 }, func() bool { return false }
	for _, c := range []struct {
		goroutines int64
		asked      int64
		ok         bool
	}{{10, 1, true}, {11, 2, true}, {18, 2, true}, {19, 1 + 7, false}} { // two connections need 8 for themselves
		now.Store(c.goroutines)
		asked.Store(0)
		if ok := p.pass(&p.fresh, 7, two, here); ok != c.ok || asked.Load() != c.asked {
			t.Errorf("%d goroutines: %v, looked %d times, expected %d", c.goroutines, ok, asked.Load(), c.asked)
		}
	}
	now.Store(100)
	p.step = time.Hour
	if !p.known.TryLock() {
		t.Fatal("the lock is held by nobody")
	}
	var passed sync.WaitGroup
	passed.Go(func() { p.pass(&p.known, 7, two, here) })
	now.Store(0)
	p.known.Unlock() // the next one sees that there are few
	passed.Wait()
}

// TestCrowdedConnections: in a crowd a connection that has had no call is closed, one that has had one is read, and one of HTTP/1 does not even look.
func TestCrowdedConnections(t *testing.T) {
	places := NewPlaces(4, nil)
	looked := 0
	places.pace = pace{goroutines: func() int { looked++; return 100 }}
	for name, c := range map[string]struct {
		prepare func(*Place)
		closed  bool
		looked  int
	}{
		"fresh":  {func(*Place) {}, true, 1 + freshSteps},
		"known":  {func(p *Place) { p.had.Store(true) }, false, 1 + knownSteps},
		"HTTP/1": {func(p *Place) { ConnContext(t.Context(), &conn{p.raw, &address{nil, p}}) }, false, 0},
	} {
		mine, theirs := net.Pipe()
		defer mine.Close()
		place := &Place{of: places, raw: theirs}
		c.prepare(place)
		go mine.Write([]byte("x"))
		looked = 0
		n, err := (&conn{theirs, &address{nil, place}}).Read(make([]byte, 1))
		if closed := errors.Is(err, errCrowded) && n == 0 && theirs.SetDeadline(time.Time{}) != nil; closed != c.closed || !closed && n != 1 || looked != c.looked {
			t.Errorf("%s: %d, %v, looked %d times", name, n, err, looked)
		}
		theirs.Close()
	}
}

// TestCrowdedEnd: in a crowd the end of a connection is read at once, and one that is closed meanwhile waits no longer: else a server that
// stops would wait for its connections in turn.
func TestCrowdedEnd(t *testing.T) {
	places := NewPlaces(4, nil)
	looked := 0
	places.pace = pace{goroutines: func() int { looked++; return 100 }}
	mine, theirs := net.Pipe()
	place := &Place{of: places, raw: theirs}
	place.had.Store(true)
	c := &conn{theirs, &address{nil, place}}
	mine.Close()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || looked != 0 {
		t.Errorf("the end: %v, looked %d times", err, looked)
	}
	c.Close()
	if err := place.received(1); err != nil || looked != 1 {
		t.Errorf("closed: %v, looked %d times", err, looked)
	}
}

// TestPerConnection: calls are counted by connection, also by many goroutines at once, and no count stays behind.
func TestPerConnection(t *testing.T) {
	c := perConnection{limit: 3}
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
	if end, err := c.begin(at(2)); err != nil {
		t.Errorf("another connection: %v", err)
	} else {
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
