package cluster

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// bytesConn is a connection that returns given bytes and accepts any.
type bytesConn struct {
	net.Conn
	in  *bytes.Reader
	out bytes.Buffer
}

func (c *bytesConn) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c *bytesConn) Write(p []byte) (int, error) { return c.out.Write(p) }
func (c *bytesConn) Close() error                { return nil }

func bulkOver(b []byte, limit int) *bulkConn {
	return newBulkConn(&bytesConn{in: bytes.NewReader(b)}, nil, ticket{}, limit, true)
}

// records returns the bytes of frames, and the end.
func records(t testing.TB, frames ...*Frame) []byte {
	c := bulkOver(nil, 1<<30)
	for _, f := range frames {
		if err := c.send(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.sendEnd(); err != nil {
		t.Fatal(err)
	}
	return c.conn.(*bytesConn).out.Bytes()
}

func TestRecords(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 3<<20)
	b := records(t, &Frame{}, &Frame{Header: []byte("head"), Body: [][]byte{[]byte("a"), nil, []byte("b")}}, &Frame{Header: large, Body: [][]byte{large, large}})
	if want := "GEF\x02" + strings.Repeat("\x00", 16) + "\xb0\x34\x5f\x0b" +
		"GEF\x02\x04\x00\x00\x00\x02\x00\x00\x00\x36\x29\xa2\xe2\xe8\x97\x7c\xea\xa2\xdb\xd0\x4d" + "headab"; string(b[:len(want)]) != want {
		t.Errorf("got %q", b[:len(want)])
	}
	c := bulkOver(b, 16<<20)
	for i, want := range [][2]string{{"", ""}, {"head", "ab"}, {string(large), string(large) + string(large)}} {
		m, err := c.next()
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		f, err := m.frame()
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		got := make([]byte, f.Len())
		if f.CopyTo(got, 0); string(f.Header) != want[0] || string(got) != want[1] {
			t.Errorf("frame %d: header of %d bytes, body of %d, expected %d and %d", i, len(f.Header), len(got), len(want[0]), len(want[1]))
		}
		f.Release()
	}
	for range 2 {
		if _, err := c.next(); err != io.EOF {
			t.Errorf("at the end: got %v", err)
		}
	}
}

func TestMalformedRecords(t *testing.T) {
	whole := records(t, &Frame{Header: []byte("head"), Body: [][]byte{[]byte("body")}})
	for n := range len(whole) {
		c := bulkOver(whole[:n], 100)
		m, err := c.next()
		if err == nil {
			_, err = m.frame()
		}
		if err == nil {
			_, err = c.next()
		}
		if err != io.ErrUnexpectedEOF || !c.broken.Load() {
			t.Errorf("the first %d bytes: got %v", n, err)
		}
	}
	for text, code := range map[string]codes.Code{
		"GEF\x02\xff\xff\xff\xff\xff\xff\xff\xff": codes.ResourceExhausted,
		"GEF\x02\x00\x00\x00\x00\x65\x00\x00\x00": codes.ResourceExhausted,
		"GEF\x01\x00\x00\x00\x00\x00\x00\x00\x00": codes.Internal,
		"GEE\x02\x00\x00\x00\x00\x01\x00\x00\x00": codes.Internal,
		"PRI * HTTP/2": codes.Internal,
	} {
		c := bulkOver(withSums(text), 100)
		if _, err := c.next(); status.Code(err) != code || !c.broken.Load() {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// withSums adds the checksums to kind and lengths of a record without a body.
func withSums(text string) []byte {
	b := append([]byte(text), make([]byte, 8)...)
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

func FuzzRecords(f *testing.F) {
	f.Add(records(f, &Frame{Header: []byte("head"), Body: [][]byte{[]byte("body")}}, &Frame{}), 100)
	f.Add(withSums("GEF\x02\x00\x00\x00\x00\xff\xff\xff\x00"), 1<<30)
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		c := bulkOver(b, limit)
		for {
			m, err := c.next()
			if err != nil {
				if status.Code(err) == codes.Unknown && err != io.EOF && err != io.ErrUnexpectedEOF && !errors.Is(err, ErrDamaged) {
					t.Fatal(err)
				}
				return
			}
			if n := len(m.Header) + m.Len(); n > limit || len(m.Header) > len(b) {
				t.Fatalf("a message of %d bytes, limit %d, of %d bytes", n, limit, len(b))
			}
			f, err := m.frame()
			if err != nil {
				return
			}
			f.Release()
		}
	})
}

// TestHeadersTakeMemoryAsTheyCome: the lengths that a record claims allocate nothing.
func TestHeadersTakeMemoryAsTheyCome(t *testing.T) {
	for _, b := range []string{"GEF\x02\x00\x00\x00\x40\x00\x00\x00\x00", "GEF\x02\x00\x00\x00\x00\x00\x00\x00\x40"} {
		c := bulkOver(withSums(b), 1<<31-1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := c.next()
		if err == nil {
			_, err = m.frame()
		}
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Error("no error")
		}
		took := after.TotalAlloc - before.TotalAlloc
		if took > 4*piece { // other tests' goroutines allocate some
			t.Errorf("a record that claims 1 GiB took %d bytes", took)
		}
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// TestCallerThatLeaves cancels a call while a bulk connection is being opened: the next stream
// still asks the peer for one.
func TestCallerThatLeaves(t *testing.T) {
	caller, _, _ := local(t)
	if _, err := caller.Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{}); err != nil {
		t.Fatal(err)
	}
	p, err := caller.peer(ps0)
	if err != nil {
		t.Fatal(err)
	}
	left, cancel := context.WithCancel(t.Context())
	cancel()
	if c := caller.bulk(left, p); c != nil {
		t.Error("a connection for a caller that has left")
	}
	if _, ask := p.bulk.take(); !ask {
		t.Error("the peer is not asked for bulk connections any more")
	}
}

// Small frames with more to follow are sent with the next one, or with the end; large ones do not wait.
func TestFramesThatWait(t *testing.T) {
	small, large := []byte("ab"), bytes.Repeat([]byte("x"), coalesce)
	frames := []*Frame{{Header: small, More: true}, {Body: [][]byte{small}, More: true}, {Header: small, Body: [][]byte{large}}, {Body: [][]byte{large}, More: true}, {Header: small, More: true}}
	var plain []*Frame
	c := bulkOver(nil, 1<<20)
	out := &c.conn.(*bytesConn).out
	for i, f := range frames {
		before := out.Len()
		if err := c.send(f); err != nil {
			t.Fatal(err)
		}
		if waits := out.Len() == before; waits != (len(f.Body) == 0 || len(f.Body[0]) == len(small)) {
			t.Errorf("frame %d waits: %v", i, waits)
		}
		plain = append(plain, &Frame{Header: f.Header, Body: f.Body})
	}
	if err := c.sendEnd(); err != nil {
		t.Fatal(err)
	}
	if want := records(t, plain...); !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%d bytes were sent, expected the %d of frames that do not wait", out.Len(), len(want))
	}
}
