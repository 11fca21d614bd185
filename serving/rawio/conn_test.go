package rawio

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair returns the two ends of a connection: a wrapped one that was accepted, and the client's.
func pair(t testing.TB, network, address string) (served, client net.Conn) {
	t.Helper()
	inner, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	l := NewListener(inner)
	defer l.Close()
	if client, err = net.Dial(network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if served, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { served.Close(); client.Close() })
	end := time.Now().Add(time.Minute)
	if err := errors.Join(served.SetDeadline(end), client.SetDeadline(end)); err != nil {
		t.Fatal(err)
	}
	return served, client
}

// networks are the kinds of sockets.
func networks(t *testing.T) map[string]string {
	return map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")}
}

// Bytes come as they were sent, in pieces of all sizes, through buffers that are full in between, both ways at once.
func TestStream(t *testing.T) {
	for network, address := range networks(t) {
		t.Run(network, func(t *testing.T) {
			served, client := pair(t, network, address)
			sent := make([]byte, 5<<20)
			for i := range sent {
				sent[i] = byte(rand.Uint32())
			}
			send := func(c net.Conn) {
				for rest := sent; len(rest) > 0; {
					n := min(1+rand.IntN(2*small), len(rest))
					if m, err := c.Write(rest[:n]); m != n || err != nil {
						t.Errorf("wrote %d of %d: %v", m, n, err)
						break
					}
					rest = rest[n:]
				}
				if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
					t.Error(err)
				}
			}
			receive := func(c net.Conn) {
				var got []byte
				buf := make([]byte, 3*small)
				for {
					n, err := c.Read(buf[:1+rand.IntN(len(buf))])
					got = append(got, buf[:n]...)
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Error(err)
						break
					}
				}
				if !bytes.Equal(got, sent) {
					t.Errorf("%d bytes came, not the %d that were sent", len(got), len(sent))
				}
			}
			var work sync.WaitGroup
			for _, c := range []net.Conn{served, client} {
				work.Go(func() { send(c) })
				work.Go(func() { receive(c) })
			}
			work.Wait()
		})
	}
}

// Errors are those of package net: of deadlines, of closed connections at both ends.
func TestErrors(t *testing.T) {
	for network, address := range networks(t) {
		t.Run(network, func(t *testing.T) {
			served, client := pair(t, network, address)
			var op *net.OpError
			if err := served.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
				t.Fatal(err)
			}
			if n, err := served.Read(make([]byte, 8)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &op) || op.Op != "read" || !op.Timeout() {
				t.Errorf("past the deadline: %d, %v", n, err)
			}
			if err := served.SetReadDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			if n, err := served.Read(nil); n != 0 || err != nil {
				t.Errorf("a read of nothing: %d, %v", n, err)
			}
			client.Close()
			if n, err := served.Read(make([]byte, 8)); n != 0 || err != io.EOF {
				t.Errorf("at the end: %d, %v", n, err)
			}
			var err error
			for range 100 { // the first ones may still be buffered
				if _, err = served.Write(make([]byte, 8)); err != nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
			if !errors.As(err, &op) || op.Op != "write" || !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("a write to nobody: %v", err)
			}
			reader := make(chan error, 1)
			other, _ := pair(t, "tcp", "127.0.0.1:0")
			go func() {
				_, err := other.Read(make([]byte, 8))
				reader <- err
			}()
			other.Close() // also while a read waits
			if err := <-reader; !errors.Is(err, net.ErrClosed) {
				t.Errorf("a read of a closed connection: %v", err)
			}
			if _, err := other.Write(make([]byte, 8)); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a write to a closed connection: %v", err)
			}
		})
	}
}

// What is no socket stays as it is.
func TestOthers(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if Wrap(a) != a {
		t.Error("a pipe is wrapped")
	}
	if c := Wrap(nil); c != nil {
		t.Error("nothing is wrapped")
	}
	if n := testing.AllocsPerRun(100, func() { Wrap(a) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Reads and writes leave nothing behind.
func TestAllocations(t *testing.T) {
	served, client := pair(t, "tcp", "127.0.0.1:0")
	p := make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := served.Write(p); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(client, p); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Write(p); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(served, p); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}
