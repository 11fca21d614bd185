package budget

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestLasting: a lasting account pays for live memory. Memory that is no longer referenced makes room, even after other requests were refused.
func TestLasting(t *testing.T) {
	s := NewServer(Limits{Server: 64 << 20, Request: 48 << 20})
	defer s.Close()
	a, b := s.OpenLasting(), s.OpenLasting()
	take := func(of *Account, n int) ([]byte, error) {
		if err := of.ReserveModel(n); err != nil {
			return nil, err
		}
		piece := make([]byte, n)
		Lend(of, &piece[n/2], n)
		return piece, nil
	}
	for range 20 {
		if _, err := take(a, 40<<20); err != nil {
			t.Fatalf("garbage: %v", err)
		}
	}
	kept, err := take(a, 40<<20)
	if err != nil {
		t.Fatal(err)
	}
	for flag, of := range map[string]*Account{SessionFlag: a, ServerFlag: b} {
		_, err := take(of, 30<<20)
		var e *Error
		if !errors.As(err, &e) || status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "--"+flag) {
			t.Errorf("beyond --%s: %v", flag, err)
		}
	}
	if s.Used() != 40<<20 {
		t.Errorf("%d bytes are paid for", s.Used())
	}
	runtime.KeepAlive(kept)
}

// TestCollectedIsNoGarbage: memory that the collector has freed does not make it run again.
func TestCollectedIsNoGarbage(t *testing.T) {
	s := NewServer(Limits{Server: 64 << 20})
	defer s.Close()
	a := s.OpenLasting()
	const n = 8 << 20
	if err := a.ReserveModel(n); err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, n)
	Lend(a, &piece[0], n)
	for end := time.Now().Add(time.Minute); s.Used() > 0; time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Now().After(end) {
			t.Fatalf("%d bytes are paid for", s.Used())
		}
	}
	if g := s.garbage.Load(); g != 0 {
		t.Errorf("%d bytes count as garbage", g)
	}
}
