package admission_test

import (
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/admission"
)

// Connections of two listeners share places; one beyond them is closed, and one that is closed, even twice, gives one place back.
func TestPlaces(t *testing.T) {
	p := admission.NewPlaces(2)
	came := make(chan net.Conn, 10)
	var at []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		at = append(at, l.Addr().String())
		placed := p.Listener(l)
		go func() {
			for {
				c, err := placed.Accept()
				if err != nil {
					return
				}
				came <- c
			}
		}()
	}
	dial := func(i int) net.Conn {
		c, err := net.Dial("tcp", at[i])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial(0)
	first := <-came
	dial(1)
	second := <-came
	for i := range 2 {
		if n, err := dial(i).Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("a connection beyond the places: got %d bytes and %v, expected its end", n, err)
		}
	}
	if _, ok := first.(syscall.Conn); !ok {
		t.Error("a connection of TCP is none any more")
	}
	_, _ = first.Close(), first.Close()
	if p.Open() != 1 {
		t.Errorf("got %d places taken, expected 1", p.Open())
	}
	c := dial(1)
	third := <-came
	go func() { _, _ = third.Write([]byte("x")); _ = third.Close() }()
	if b, err := io.ReadAll(c); string(b) != "x" || err != nil {
		t.Errorf("got %q and %v of a connection that has a place", b, err)
	}
	_ = second.Close()
}
