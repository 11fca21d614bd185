package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// rawCodec sends bytes that need not be a frame.
type rawCodec struct{ encoding.CodecV2 }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (rawCodec) Unmarshal(mem.BufferSlice, any) error { return nil }
func (rawCodec) Name() string                         { return codecName }

// rawConn is a connection with a task's greeting, for messages of any kind.
func rawConn(t *testing.T, from, to *Node) *grpc.ClientConn {
	t.Helper()
	p, err := from.peer(ps0)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("passthrough:///"+to.Addr(), grpc.WithTransportCredentials(clientCredentials{from.security, p}), grpc.WithNoProxy())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestMalformedMessagesAreErrorsOfTheirCall(t *testing.T) {
	from, to := sockets(t, nil, echo())
	conn := rawConn(t, from, to)
	ctx := from.identify(testContext(t), ps0)
	for _, b := range [][]byte{{}, []byte("GEF"), []byte("GEF\x01\xff\xff\xff\xff"), []byte("GEF\x09\x00\x00\x00\x00"), bytes.Repeat([]byte{0xff}, 1000)} {
		if err := conn.Invoke(ctx, "/test.Echo/Echo", b, new(int), grpc.ForceCodecV2(rawCodec{})); status.Code(err) != codes.Internal {
			t.Errorf("%q: got %v", b, err)
		}
	}
	if _, err := from.Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{}); err != nil {
		t.Errorf("after malformed messages: %v", err)
	}
}

func TestGarbageOnTheWireDoesNotHarmTheServer(t *testing.T) {
	from, to := sockets(t, nil, echo())
	preface := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	random := make([]byte, 4096)
	rand.Read(random)
	for name, b := range map[string]string{
		"http": "GET / HTTP/1.1\r\n\r\n", "nothing": "", "random": string(random), "preface and random": preface + string(random),
		"huge HTTP/2 frame": preface + "\xff\xff\xff\x00\x00\x00\x00\x00\x01", "half a preface": preface[:10],
		"settings, headers without end": preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00" + "\x00\x00\x01\x01\x00\x00\x00\x00\x01\x80",
	} {
		c, err := net.Dial("tcp", to.Addr())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(5 * time.Second))
		fmt.Fprint(c, b)
		c.Close()
		if _, err := from.Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{}); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

// The limit on connections is for strangers: the tasks of a large cluster have room for all of theirs.
func TestConnectionsOfManyTasks(t *testing.T) {
	for tasks, least := range map[int]int{1: maxConnections, 1000: 1000 * (1 + bulkLimit)} {
		if n := mostConnections(tasks); n < least {
			t.Errorf("%d tasks: got %d connections, expected %d", tasks, n, least)
		}
	}
}

// lines counts log lines.
type lines struct{ n atomic.Int64 }

func (l *lines) Write(b []byte) (int, error) {
	l.n.Add(int64(bytes.Count(b, []byte("\n"))))
	return len(b), nil
}

// A peer that keeps sending damaged bytes does not fill the log.
func TestDamageDoesNotFillTheLog(t *testing.T) {
	var log lines
	_, to := sockets(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) }, echo())
	const tries = 50
	for range tries {
		c, err := net.Dial("tcp", to.Addr())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_, _ = c.Write(append(ours[:], bytes.Repeat([]byte("x"), 4096)...))
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c) // until it is closed
		_ = c.Close()
	}
	if n := log.n.Load(); n == 0 || n > tries/2 {
		t.Errorf("got %d lines of %d connections, expected one a second", n, tries)
	}
}

func TestCallWithoutAMessage(t *testing.T) {
	from, to := sockets(t, nil, echo())
	conn := rawConn(t, from, to)
	s, err := conn.NewStream(from.identify(testContext(t), ps0), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/test.Echo/Echo", grpc.ForceCodecV2(rawCodec{}))
	if err != nil {
		t.Fatal(err)
	}
	s.CloseSend()
	if err := s.RecvMsg(new(int)); status.Code(err) != codes.Internal {
		t.Errorf("got %v", err)
	}
}

func TestUntrustedPeer(t *testing.T) {
	if p, ok := PeerOf(context.Background()); ok {
		t.Errorf("a caller that said nothing is %v", p)
	}
}
