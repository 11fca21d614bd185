package cluster

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/runconfig"
)

func TestChecksum(t *testing.T) {
	if got := checksum([]byte("123456789")); got != 0xe3069283 { // the standard check value
		t.Errorf("got %08x", got)
	}
}

// written returns the bytes that a summed connection sends for some pieces.
func written(t testing.TB, pieces ...[]byte) []byte {
	t.Helper()
	to := &bytesConn{}
	c := newSummed(to, nil)
	for _, p := range pieces {
		if n, err := c.Write(p); n != len(p) || err != nil {
			t.Fatalf("wrote %d of %d bytes: %v", n, len(p), err)
		}
	}
	return to.out.Bytes()
}

// TestFirstBytes: the documented bytes.
func TestFirstBytes(t *testing.T) {
	hello := helloOf(ticket{1})
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"greeting":    {ours[:], "474548031fec6877"},
		"bulk":        {hello[:5], "4745420301"},
		"bulk answer": {bulkTaken[:], "47454203491f39cd"},
		"record":      {written(t, []byte("hello")), "050000004cbb719a86d7c65f" + hex.EncodeToString([]byte("hello"))},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s: got %s, expected %s", name, got, c.want)
		}
	}
}

func TestSummedPassesBytes(t *testing.T) {
	small, large := []byte("small"), bytes.Repeat([]byte("0123456789abcdef"), sumBytes/8+3)
	b := written(t, small, large, nil, small)
	c := newSummed(&bytesConn{in: bytes.NewReader(b)}, func(err error) { t.Error(err) })
	got, err := io.ReadAll(c)
	if want := bytes.Join([][]byte{small, large, small}, nil); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, %v, expected %d", len(got), err, len(want))
	}
	for n := range len(small) + sumPrefix { // an end within a record is unexpected
		c := newSummed(&bytesConn{in: bytes.NewReader(b[:n])}, func(err error) { t.Error(err) })
		want := io.ErrUnexpectedEOF
		if n == 0 {
			want = io.EOF
		}
		if got, err := c.Read(make([]byte, 100)); got != 0 || err != want {
			t.Errorf("of %d bytes: got %d, %v", n, got, err)
		}
	}
}

// TestEveryFlippedBitIsNoticed: before any byte of its record is read.
func TestEveryFlippedBitIsNoticed(t *testing.T) {
	b := written(t, []byte("first"), []byte("second: no bit may be flipped"))
	first := sumPrefix + len("first")
	for bit := range 8 * len(b) {
		b[bit/8] ^= 1 << (bit % 8)
		var reported error
		c := newSummed(&bytesConn{in: bytes.NewReader(b)}, func(err error) { reported = err })
		got, err := io.ReadAll(c)
		want := ""
		if bit/8 >= first {
			want = "first"
		}
		if string(got) != want || !errors.Is(err, ErrDamaged) || !errors.Is(reported, ErrDamaged) {
			t.Fatalf("bit %d: got %q, %v, reported %v", bit, got, err, reported)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
}

func TestEveryFlippedBitOfABulkRecordIsNoticed(t *testing.T) {
	b := records(t, &Frame{Header: []byte("head"), Body: [][]byte{[]byte("the "), []byte("body")}})
	for bit := range 8 * len(b) {
		b[bit/8] ^= 1 << (bit % 8)
		c := bulkOver(b, 100)
		m, err := c.next()
		for ; err == nil; m, err = c.next() {
			f, ferr := m.frame()
			if ferr != nil {
				err = ferr
				break
			}
			f.Release()
		}
		if !errors.Is(err, ErrDamaged) || !c.broken.Load() {
			t.Fatalf("bit %d: got %v", bit, err)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
}

// TestBodiesThatAreNotReadToTheEnd: a dropped message does not disturb the next one.
func TestBodiesThatAreNotReadToTheEnd(t *testing.T) {
	c := bulkOver(records(t, &Frame{Body: [][]byte{[]byte("dropped")}}, &Frame{Body: [][]byte{[]byte("read")}}), 100)
	m, err := c.next()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if m, err = c.next(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(m); string(got) != "read" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func FuzzSummed(f *testing.F) {
	f.Add(written(f, []byte("hello")))
	f.Add(written(f, make([]byte, 3*coalesce)))
	f.Add([]byte("\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := newSummed(&bytesConn{in: bytes.NewReader(b)}, func(error) {})
		got, err := io.ReadAll(c)
		if len(got) > len(b) {
			t.Fatalf("%d bytes from %d", len(got), len(b))
		}
		if err == nil && !bytes.Equal(written(t, got), b) && len(got) <= sumBytes && len(b) <= sumPrefix+len(got) {
			t.Fatal("the bytes are another record's")
		}
	})
}

// greeted returns the errors of a caller and a server if a bit of the greeting, or of the answer, is flipped.
func greeted(t *testing.T, out, in int) (caller, server error) {
	t.Helper()
	l := newMemoryListener()
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			defer c.Close()
			_, _, err = greetClient(c)
		}
		done <- err
	}()
	c, err := l.dial(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	caller = greetServer(testContext(t), &flippedConn{c, out, in}, false)
	c.Close()
	return caller, <-done
}

// flippedConn flips a bit of the first write, and one of the first read; -1: none.
type flippedConn struct {
	net.Conn
	out, in int
}

func (c *flippedConn) Write(p []byte) (int, error) {
	p = bytes.Clone(p)
	if c.out >= 0 {
		p[c.out/8] ^= 1 << (c.out % 8)
	}
	return c.Conn.Write(p)
}

func (c *flippedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.in >= 0 && c.in/8 < n {
		p[c.in/8] ^= 1 << (c.in % 8)
		c.in = -1
	}
	return n, err
}

func TestDamagedGreetings(t *testing.T) {
	if caller, server := greeted(t, -1, -1); caller != nil || server != nil {
		t.Fatal(caller, server)
	}
	for bit := range 8 * len(ours) {
		if caller, _ := greeted(t, bit, -1); !errors.Is(caller, ErrDamaged) {
			t.Errorf("bit %d of the greeting: got %v", bit, caller)
		}
		if caller, _ := greeted(t, -1, bit); !errors.Is(caller, ErrDamaged) {
			t.Errorf("bit %d of the answer: got %v", bit, caller)
		}
	}
}

// secondVersion is the greeting of version 2, both as caller and as server.
var secondVersion = []byte{'G', 'E', 'H', 2, 0x1c, 0x6f, 0x03, 0x85}

// TestOtherVersions: each side tells the other side, and its own user, what to do.
func TestOtherVersions(t *testing.T) {
	const todo = "run the same version of goestimator in all tasks"
	for want, answer := range map[string][]byte{
		"it speaks version 1 of the protocol between tasks, this task version 3: ": {0, 0, 18, 4, 0, 0, 0, 0, 0, 0, 3},
		"it speaks version 2 of the protocol between tasks, this task version 3: ": secondVersion,
		"it speaks version 4 of the protocol between tasks, this task version 3: ": append(greet(4).bytes(), 1),
	} {
		want += todo
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Write(answer)
				linger(c)
				c.Close()
			}
		}()
		from, _ := sockets(t, func(c *Config) { c.Spec = runconfig.NewClusterSpec(map[string][]string{"ps": {l.Addr().String()}}) })
		if _, err := from.Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
		l.Close()
	}
	_, to := sockets(t, nil, echo())
	for _, first := range [][]byte{secondVersion, greet(4).bytes()} {
		c, err := net.Dial("tcp", to.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(30 * time.Second))
		c.Write(first)
		// The answer is a whole greeting of this version, from which the caller knows both versions, and then the end.
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, ours[:]) {
			t.Errorf("a caller of version %d: got %x, %v", first[3], got, err)
		}
	}
}

func (g greeting) bytes() []byte { return g[:] }

// TestErrDamagedIsForGood: waiting calls end, and later ones fail, too.
func TestErrDamagedIsForGood(t *testing.T) {
	from, _ := sockets(t, nil, echo())
	if _, err := from.Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{}); err != nil {
		t.Fatal(err)
	}
	p, err := from.peer(ps0)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := from.Call(testContext(t), ps0, "/test.Echo/Hang", &Frame{})
		waiting <- err
	}()
	eventually(t, "the call waits", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.waiting) == 1
	})
	p.damaged(errors.Join(ErrDamaged))
	_, later := from.Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{})
	_, stream := from.Stream(testContext(t), ps0, "/test.Echo/Stream")
	for what, err := range map[string]error{"waiting": <-waiting, "later": later, "stream": stream, "health": from.Healthy(testContext(t), ps0)} {
		if !errors.Is(err, ErrDamaged) || errors.Is(err, ErrPeerLost) || status.Code(err) != codes.DataLoss {
			t.Errorf("%s: got %v", what, err)
		}
	}
	select {
	case <-from.Damaged():
	default:
		t.Error("the node does not tell")
	}
}
