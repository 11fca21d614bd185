package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// count returns the number of connections; unused tickets are not counted.
func (s *bulkServer) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.slots {
		if l.conn != nil {
			n++
		}
	}
	return n
}

func open(t *testing.T, from *Node, method string) ClientStream {
	t.Helper()
	s, err := from.Stream(testContext(t), ps0, method)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// exchange sends a message on an echo stream and receives it back.
func exchange(t *testing.T, s ClientStream, text string) {
	t.Helper()
	if err := s.Send(&Frame{Header: []byte(text), Body: [][]byte{make([]byte, 10000)}}); err != nil {
		t.Fatal(err)
	}
	f, err := s.Recv()
	if err != nil || string(f.Header) != text || f.Len() != 10000 {
		t.Fatalf("got %v, %v, expected %q", f, err, text)
	}
	f.Release()
}

func finish(t *testing.T, s ClientStream) {
	t.Helper()
	if err := s.CloseSend(); err != nil {
		t.Error(err)
	}
	if f, err := s.Recv(); err != io.EOF {
		t.Errorf("at the end: %v, %v", f, err)
	}
}

func isBulk(s ClientStream) bool { _, ok := s.(*bulkClientStream); return ok }

func TestStreamsShareAConnection(t *testing.T) {
	from, to := sockets(t, nil, echo())
	for i := range 5 {
		s := open(t, from, "/test.Echo/Stream")
		if !isBulk(s) {
			t.Fatal("the stream has no bulk connection")
		}
		exchange(t, s, fmt.Sprint("message ", i))
		finish(t, s)
	}
	if n := to.bulkServer.count(); n != 1 {
		t.Errorf("%d connections for streams one after the other, expected 1", n)
	}
	a, b := open(t, from, "/test.Echo/Stream"), open(t, from, "/test.Echo/Stream")
	exchange(t, a, "a")
	exchange(t, b, "b")
	finish(t, a)
	finish(t, b)
	if n := to.bulkServer.count(); n != 2 {
		t.Errorf("%d connections for two streams at once, expected 2", n)
	}
	from.Close()
	eventually(t, "the connections of a node that is closed are closed", func() bool { return to.bulkServer.count() == 0 })
}

// TestUnreadMessagesDoNotReachTheNextStream: neither the caller's nor the handler's.
func TestUnreadMessagesDoNotReachTheNextStream(t *testing.T) {
	from, to := sockets(t, nil, echo(), Service{Name: "test.Deaf", Streams: map[string]StreamHandler{"Deaf": func(_ context.Context, s Stream) error {
		return s.Send(&Frame{Header: []byte("that will do")})
	}}})
	for i := range 5 {
		s := open(t, from, "/test.Deaf/Deaf")
		_ = s.Send(&Frame{Header: []byte("unread"), Body: [][]byte{make([]byte, i*10000)}})
		if f, err := s.Recv(); err != nil || string(f.Header) != "that will do" {
			t.Fatalf("got %v, %v", f, err)
		}
		finish(t, s)
		s = open(t, from, "/test.Echo/Stream")
		exchange(t, s, "read")
		finish(t, s)
	}
	if n := to.bulkServer.count(); n > 2 {
		t.Errorf("%d connections", n)
	}
}

// TestStreamsThatAreLeftKeepTheirConnection: a caller need not receive up to the end, if the handler has
// reached it.
func TestStreamsThatAreLeftKeepTheirConnection(t *testing.T) {
	from, to := sockets(t, nil, Service{Name: "test.Three", Streams: map[string]StreamHandler{"Three": func(_ context.Context, s Stream) error {
		for i := range 3 {
			if err := s.Send(&Frame{Header: []byte{byte(i)}, Body: [][]byte{make([]byte, 10000)}}); err != nil {
				return err
			}
		}
		return nil
	}}})
	for received := range 4 {
		ctx, cancel := context.WithCancel(testContext(t))
		s, err := from.Stream(ctx, ps0, "/test.Three/Three")
		if err != nil {
			t.Fatal(err)
		}
		for i := range received {
			if f, err := s.Recv(); err != nil || f.Header[0] != byte(i) {
				t.Fatalf("message %d: %v", i, err)
			}
		}
		<-s.(*bulkClientStream).over // the handler has returned
		cancel()
		pool := &from.peers[ps0].bulk
		eventually(t, "the connection is kept", func() bool {
			pool.mu.Lock()
			defer pool.mu.Unlock()
			return len(pool.idle) == 1
		})
		if _, err := s.Recv(); !errors.Is(err, context.Canceled) {
			t.Errorf("a stream that was left: got %v", err)
		}
	}
	if n := to.bulkServer.count(); n != 1 {
		t.Errorf("%d connections, expected 1", n)
	}
}

// TestStreamsThatAreCancelled: at any moment; later streams still work.
func TestStreamsThatAreCancelled(t *testing.T) {
	from, to := sockets(t, nil, echo(), Service{Name: "test.Three", Streams: map[string]StreamHandler{"Three": func(_ context.Context, s Stream) error {
		for range 3 {
			if err := s.Send(&Frame{Body: [][]byte{make([]byte, 10000)}}); err != nil {
				return err
			}
		}
		return nil
	}}})
	for i := range 200 {
		ctx, cancel := context.WithCancel(testContext(t))
		s, err := from.Stream(ctx, ps0, "/test.Three/Three")
		if err != nil {
			t.Fatal(err)
		}
		for range i % 4 {
			if _, err := s.Recv(); err != nil {
				t.Fatalf("stream %d: %v", i, err)
			}
		}
		cancel()
		if i%10 == 0 {
			s := open(t, from, "/test.Echo/Stream")
			exchange(t, s, "after it")
			finish(t, s)
		}
	}
	from.Close()
	eventually(t, "no connection is left", func() bool { return to.bulkServer.count() == 0 })
}

// TestSendToAHandlerThatHasReturned: the caller's Send does not hang.
func TestSendToAHandlerThatHasReturned(t *testing.T) {
	from, _ := sockets(t, nil, echo(), Service{Name: "test.Gone", Streams: map[string]StreamHandler{"Gone": func(_ context.Context, s Stream) error {
		return status.Error(codes.Aborted, "enough")
	}}})
	s := open(t, from, "/test.Gone/Gone")
	var err error
	for err == nil {
		err = s.Send(&Frame{Body: [][]byte{make([]byte, 1<<20)}})
	}
	if status.Code(err) != codes.Aborted {
		t.Errorf("Send: got %v", err)
	}
	if _, err := s.Recv(); status.Code(err) != codes.Aborted {
		t.Errorf("Recv: got %v", err)
	}
	again := open(t, from, "/test.Echo/Stream")
	exchange(t, again, "after it")
	finish(t, again)
}

func TestBrokenConnectionEndsItsStream(t *testing.T) {
	from, to := sockets(t, nil, echo())
	s := open(t, from, "/test.Echo/Stream")
	exchange(t, s, "before")
	to.bulkServer.mu.Lock()
	for _, l := range to.bulkServer.slots {
		l.conn.conn.Close()
	}
	to.bulkServer.mu.Unlock()
	if _, err := s.Recv(); !errors.Is(err, ErrPeerLost) {
		t.Errorf("got %v", err)
	}
	s = open(t, from, "/test.Echo/Stream")
	exchange(t, s, "after")
	finish(t, s)
}

func TestPanicDropsTheConnection(t *testing.T) {
	from, to := sockets(t, nil, echo())
	s := open(t, from, "/test.Echo/PanicStream")
	if _, err := s.Recv(); status.Code(err) != codes.Internal {
		t.Errorf("got %v", err)
	}
	eventually(t, "the connection is closed", func() bool { return to.bulkServer.count() == 0 })
}

// TestPeersWithoutBulk: streams go by gRPC, and the peer is not asked each time.
func TestPeersWithoutBulk(t *testing.T) {
	from, to := sockets(t, func(c *Config) { c.noBulk = c.Task == ps0 }, echo())
	for range 2 {
		s := open(t, from, "/test.Echo/Stream")
		if isBulk(s) {
			t.Error("the stream has a bulk connection")
		}
		exchange(t, s, "by gRPC")
		finish(t, s)
		if _, ask := from.peers[ps0].bulk.take(); ask {
			t.Error("the peer would be asked again")
		}
	}
	if n := to.bulkServer.count(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

func TestManyStreams(t *testing.T) {
	from, to := sockets(t, nil, echo())
	var all []ClientStream
	for i := range bulkLimit + 3 {
		s := open(t, from, "/test.Echo/Stream")
		if isBulk(s) != (i < bulkLimit) {
			t.Errorf("stream %d over a bulk connection: %t", i, isBulk(s))
		}
		all = append(all, s)
	}
	for i, s := range all {
		exchange(t, s, fmt.Sprint(i))
		finish(t, s)
	}
	pool := &from.peers[ps0].bulk
	pool.mu.Lock()
	kept := len(pool.idle) // a connection whose last record could not be sent in time is closed
	if kept <= 10 {
		t.Fatalf("%d idle connections, expected more than 10 of %d", kept, bulkLimit)
	}
	for _, c := range pool.idle[:10] {
		c.drop()
	}
	pool.mu.Unlock()
	eventually(t, "connections that the caller has closed are closed", func() bool {
		for carrier := range to.bulkServer.carriers() {
			to.bulkServer.prune(carrier)
		}
		return to.bulkServer.count() == kept-10
	})
}

func (s *bulkServer) carriers() map[*watchedConn]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := map[*watchedConn]bool{}
	for _, l := range s.slots {
		m[l.carrier] = true
	}
	return m
}

// TestUntrustedGetNothing: a connection without a ticket, which only callers with the token get, is closed
// without an answer; a ticket can be used once.
func TestUntrustedGetNothing(t *testing.T) {
	from, to := sockets(t, func(c *Config) { c.Security.Token = "secret" }, echo())
	s := open(t, from, "/test.Echo/Stream")
	exchange(t, s, "a friend")
	used := s.(*bulkClientStream).conn.ticket
	none, again := helloOf(ticket{}), helloOf(used)
	for name, hello := range map[string]string{
		"no ticket": string(none[:]), "a used ticket": string(again[:]), "a ticket without its checksum": string(again[:20]) + "1234",
		"half a ticket": string(bulkMagic[:]) + "1234", "another version": "GEB\x01" + string(again[4:]), "nothing": "",
	} {
		c, err := net.Dial("tcp", to.Addr())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(30 * time.Second))
		fmt.Fprint(c, hello)
		c.(*net.TCPConn).CloseWrite()
		if b, err := io.ReadAll(c); strings.HasPrefix(string(b), "GEB") {
			t.Errorf("%s: got %q, %v", name, b, err)
		}
		c.Close()
	}
	exchange(t, s, "still there")
	finish(t, s)
	other, err := Open(Config{Task: worker0, Spec: from.Spec(), Log: from.config.Log})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	// It knows the ticket of a connection, but has no token, and is not the caller who got the ticket.
	if s, err := other.Stream(metadata.AppendToOutgoingContext(testContext(t), bulkKey, used.String()), ps0, "/test.Echo/Stream"); err == nil {
		if _, err = s.Recv(); !errors.Is(err, ErrRefused) {
			t.Errorf("without the token: got %v", err)
		}
	}
	thief, err := Open(Config{Task: worker0, Spec: from.Spec(), Log: from.config.Log, Security: Security{Token: "secret"}, noBulk: true})
	if err != nil {
		t.Fatal(err)
	}
	defer thief.Close()
	s, err = thief.Stream(metadata.AppendToOutgoingContext(testContext(t), bulkKey, used.String()), ps0, "/test.Echo/Stream")
	if err == nil {
		_, err = s.Recv()
	}
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("a stream over another's connection: got %v", err)
	}
}
