package transport

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
)

// raw is a frame of a request with a head that may be invalid.
func raw(k kind, call uint32, head, body []byte) []byte {
	b := make([]byte, headerSize)
	header{kind: k, call: call, length: uint32(len(head) + len(body)), head: uint32(len(head))}.put(b)
	return append(append(b, head...), body...)
}

// asking is the head of a request for an echo, in parts of these sizes.
func asking(sizes ...int) []byte {
	h := requestHead{method: "/" + service.Master + "/RunStep", header: metadata.Pairs("authorization", "Bearer abc")}
	return appendSizes(h.append(nil), sizes)
}

// malformed is data that no client sends.
func malformed() map[string][]byte {
	long := make([]byte, headerSize)
	header{kind: request, call: 1, length: 1 << 31, head: 4}.put(long)
	return map[string][]byte{
		"zeros":                make([]byte, 100),
		"HTTP":                 []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
		"a long frame":         long,
		"a head beyond":        {byte(request), 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0},
		"no head":              raw(request, 1, nil, nil),
		"half a head":          raw(request, 1, asking()[:9], nil),
		"more than a head":     raw(request, 1, append(asking(), 1), nil),
		"parts of no size":     raw(request, 1, asking(0), nil),
		"2 GiB":                raw(request, 1, asking(maxMessage, 1), nil),
		"parts and whole":      raw(request, 1, asking(1<<20), []byte("x")),
		"very many parts":      raw(request, 1, appendSizes(asking()[:len(asking())-1], make([]int, maxParts+1)), nil),
		"very much metadata":   raw(request, 1, append(appendText(nil, "m"), 0, 0xff, 0xff, 0xff, 0xff, 0x7f), nil),
		"a response":           raw(response, 1, nil, nil),
		"empty data":           raw(data, 1, nil, nil),
		"one number for two":   append(raw(request, 1, asking(1<<20), nil), raw(request, 1, asking(1<<20), nil)...),
		"a kind that is none":  {77, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"bits beside the kind": {byte(ping), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"another preface":      nil,
		"a number without end": raw(request, 1, bytes.Repeat([]byte{0xff}, 20), nil),
		"a long text":          raw(request, 1, binary.AppendUvarint(nil, 1<<40), nil),
	}
}

// greeted is a connection after the preface.
func (r *rig) greeted(first string) net.Conn {
	r.t.Helper()
	c, err := net.Dial("tcp", r.conn.address)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, first); err != nil {
		r.t.Fatal(err)
	}
	got := make([]byte, len(preface))
	if _, err := io.ReadFull(c, got); err != nil && first == preface {
		r.t.Fatal(err)
	}
	return c
}

// TestMalformed: a connection with malformed frames is closed, and others continue.
func TestMalformed(t *testing.T) {
	r := serve(t, ways[1])
	for name, b := range malformed() {
		first := preface
		if b == nil {
			first = "PGOEST2\n"
		}
		c := r.greeted(first)
		_, _ = c.Write(b) // it may be closed already
		if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		if _, err := io.Copy(io.Discard, c); err != nil {
			if late, ok := err.(net.Error); ok && late.Timeout() {
				t.Errorf("%s: the connection stays open", name)
			}
		}
	}
	r.echoed("after all", 1<<20)
}

// TestAnnounced: announced data takes no memory before it arrives, and received data is released with the connection.
func TestAnnounced(t *testing.T) {
	r := serve(t, ways[1])
	c := r.greeted(preface)
	for i := range 100 {
		for _, b := range [][]byte{raw(request, uint32(i), asking(1<<30), nil), raw(data, uint32(i), nil, make([]byte, 4<<10))} {
			if _, err := c.Write(b); err != nil {
				t.Fatal(err)
			}
		}
	}
	until(t, "something is held", func() bool { return r.memory.Used() >= 100*4<<10 })
	if used := r.memory.Used(); used > 8<<20 {
		t.Errorf("%d bytes are held for 400 KiB", used)
	}
	r.echoed("beside it", 1<<20)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	until(t, "nothing is held", func() bool { return r.memory.Used() == 0 })
}

// TestGivenUp: the memory of an incomplete message is released when its call is cancelled.
func TestGivenUp(t *testing.T) {
	r := serve(t, ways[1])
	c := r.greeted(preface)
	for _, b := range [][]byte{raw(request, 1, asking(3<<20), nil), raw(data, 1, nil, make([]byte, 200<<10))} {
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "something is held", func() bool { return r.memory.Used() > 0 })
	for _, b := range [][]byte{raw(cancel, 1, nil, nil), raw(data, 1, nil, make([]byte, 200<<10))} {
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "nothing is held", func() bool { return r.memory.Used() == 0 })
}

// TestSmallPieces: a large part that arrives byte by byte takes no more memory than is paid for.
func TestSmallPieces(t *testing.T) {
	paid := 0
	in := &incoming{sizes: []int{1 << 30}, pay: func(n int) error { paid += n; return nil }}
	for range early + 1 {
		b, err := in.room(1)
		if err != nil || len(b) != 1 {
			t.Fatalf("room for %d bytes, %v", len(b), err)
		}
		in.came(1)
	}
	if len(in.early) != 2 || paid != 2*early {
		t.Errorf("%d pieces, %d bytes paid", len(in.early), paid)
	}
}

// TestLetGo: a call whose client stops within a frame releases its memory when it ends, and the connection continues.
func TestLetGo(t *testing.T) {
	for _, w := range []way{ways[1], ways[3]} {
		r := serve(t, w)
		c, err := r.conn.dial()
		if err != nil {
			t.Fatal(err)
		}
		const size = 24 << 20
		h := requestHead{method: "/" + service.Master + "/RunStep", header: metadata.Pairs("authorization", "Bearer abc"), timeout: time.Second}
		write := func(b []byte) {
			if _, err := c.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		write(raw(request, 1, appendSizes(h.append(nil), []int{size}), nil))
		for range size/ahead/maxData + 1 {
			write(raw(data, 1, nil, make([]byte, maxData)))
		}
		last := raw(data, 1, nil, make([]byte, maxData))
		write(last[:100_000])
		if got := answered(t, c); got.status.Code() != codes.DeadlineExceeded {
			t.Errorf("%s: got %v", w.name, got.status)
		}
		until(t, "the memory goes", func() bool {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc < size*3/4
		})
		write(last[100_000:])
		write(raw(request, 2, asking(), nil))
		if got := answered(t, c); got.status.Code() != codes.OK {
			t.Errorf("%s: the next call: %v", w.name, got.status)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// answered reads a response in one frame.
func answered(t *testing.T, c net.Conn) (head responseHead) {
	t.Helper()
	b := make([]byte, headerSize)
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	h, err := parseHeader(b)
	if err != nil || h.kind != response {
		t.Fatalf("got a frame %v, %v", h, err)
	}
	b = make([]byte, h.length)
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	if err := head.parse(b[:h.head]); err != nil {
		t.Fatal(err)
	}
	return head
}

// TestInTheClear: a server with TLS does not answer a preface without TLS.
func TestInTheClear(t *testing.T) {
	r := serve(t, ways[3])
	c, err := net.Dial("tcp", r.conn.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write(append([]byte(preface), raw(request, 1, asking(), nil)...)); err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(c) // the server closes the connection, which may fail the read
	if bytes.Contains(got, []byte(preface)) || len(got) > 100 {
		t.Errorf("got %q", got)
	}
}

// pipe serves one end of an in-memory connection.
func (s *Server) pipe() (client net.Conn) {
	client, server := net.Pipe()
	s.accept(server, credentials.AuthInfo(nil))
	return client
}

// FuzzServer: with any input, the server's side ends with its connection.
func FuzzServer(f *testing.F) {
	for _, b := range malformed() {
		f.Add(b)
	}
	f.Add(raw(request, 1, asking(), []byte("\n\x01x")))
	f.Add(append(raw(request, 1, asking(5, 6), nil), raw(data, 1, nil, []byte("0123456789a"))...))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewServer()
		r := &rig{t: t}
		service.Register(s, service.Master, service.Local{service.Bind("RunStep", r.echo)})
		c := s.pipe()
		go func() { _, _ = io.Copy(io.Discard, c) }()
		_, _ = io.WriteString(c, preface[magic:])
		_, _ = c.Write(b)
		_ = c.Close()
		s.GracefulStop()
	})
}

// FuzzClient: with any data from a server, a call ends with its connection.
func FuzzClient(f *testing.F) {
	h := responseHead{}
	f.Add(raw(response, 1, appendSizes(h.append(nil), nil), []byte("\n\x01x")))
	f.Add(append(raw(response, 1, appendSizes(h.append(nil), []int{5, 6}), nil), raw(data, 1, nil, []byte("0123456789a"))...))
	f.Add(raw(data, 1, nil, []byte("x")))
	f.Add(raw(ping, 0, nil, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		client, server := net.Pipe()
		l := newClientLink(newLink(client), "there")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			l.run()
		}()
		go func() { _, _ = io.Copy(io.Discard, server) }()
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			in := requestOf("x", 5)
			_, _, _ = l.invoke(context.Background(), "/a/b", in, in)
		}()
		until(t, "a call", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.waiting) > 0
		})
		_, _ = server.Write(b)
		_ = server.Close()
		<-ended
		<-answered
	})
}
