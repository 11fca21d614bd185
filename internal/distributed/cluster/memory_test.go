package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// memoryPair returns the ends of an in-memory connection.
func memoryPair(t *testing.T) (caller, server net.Conn) {
	t.Helper()
	l := newMemoryListener()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := l.Accept()
		accepted <- c
	}()
	caller, err := l.dial(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	server = <-accepted
	t.Cleanup(func() { caller.Close(); server.Close(); l.Close() })
	return caller, server
}

func TestMemoryConnCarriesBytes(t *testing.T) {
	caller, server := memoryPair(t)
	want := make([]byte, 3*memoryBuffer+17)
	for i := range want {
		want[i] = byte(i * i >> 5)
	}
	wrote := make(chan error, 1)
	go func() {
		var err error
		for left := want; len(left) > 0 && err == nil; {
			n := min(len(left), 100_003)
			_, err = caller.Write(left[:n])
			left = left[n:]
		}
		wrote <- errors.Join(err, caller.Close())
	}()
	got, err := io.ReadAll(server)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, %v, expected the %d that were written", len(got), err, len(want))
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if _, err := server.Write([]byte("x")); err == nil {
		t.Error("a write to an end that is closed did not fail")
	}
	if _, err := caller.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read of a closed end: got %v", err)
	}
}

// awaitFull waits until a writer blocks.
func (p *memoryPipe) awaitFull() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.n < len(p.ring) {
		p.changed.Wait()
	}
}

func TestMemoryConnDeadlines(t *testing.T) {
	caller, server := memoryPair(t)
	b := make([]byte, 1)
	caller.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := caller.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read by a deadline: got %v", err)
	}
	written := make(chan error, 1)
	go func() {
		n, err := caller.Write(make([]byte, 2*memoryBuffer))
		if n != memoryBuffer {
			err = fmt.Errorf("wrote %d bytes, %w", n, err)
		}
		written <- err
	}()
	caller.(*memoryConn).out.awaitFull()
	caller.SetWriteDeadline(time.Now().Add(time.Millisecond))
	if err := <-written; err != os.ErrDeadlineExceeded {
		t.Errorf("write by a deadline: got %v", err)
	}
	caller.SetDeadline(time.Time{})
	if _, err := io.ReadFull(server, make([]byte, memoryBuffer)); err != nil {
		t.Fatal(err)
	}
	// A deadline that was removed has no effect, even if its timer was about to fire.
	for range 200 {
		caller.SetDeadline(time.Now().Add(time.Microsecond))
		caller.SetDeadline(time.Unix(1, 0))
		caller.SetDeadline(time.Time{})
	}
	if _, err := caller.Write([]byte("a")); err != nil {
		t.Error(err)
	}
	if _, err := server.Write([]byte("b")); err != nil {
		t.Error(err)
	}
	if _, err := caller.Read(b); err != nil || b[0] != 'b' {
		t.Errorf("read %q, %v", b, err)
	}
}

func TestMemoryListenerCloses(t *testing.T) {
	l := newMemoryListener()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.dial(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody accepts: got %v", err)
	}
	l.Close()
	l.Close()
	if _, err := l.dial(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("dial: got %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept: got %v", err)
	}
}
