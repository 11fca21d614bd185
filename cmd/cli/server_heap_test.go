package cli

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestHeapOfServers(t *testing.T) {
	for live, want := range map[uint64]int{0: 100, 1 << 20: 100, 32 << 20: 100, 64 << 20: 50, 128 << 20: 25, 160 << 20: 20, 1 << 40: 20} {
		if got := new(heapRule).growth(live); got != want {
			t.Errorf("a heap of %d bytes may grow by %d %%, expected %d", live, got, want)
		}
	}
}

func TestHeapInBursts(t *testing.T) {
	const live = 256 << 20
	var r heapRule
	at := uint64(0)
	for i, c := range []struct {
		allocates uint64
		growth    int
		ended     bool
	}{
		{1 << 20, leastGrowth, false},
		{1 << 30, 100, false},
		{1 << 40, burstGrowth, false}, // limited by burstRoom
		{1 << 30, burstGrowth, false}, // the largest period of the burst counts
		{0, burstGrowth, false},
		{0, leastGrowth, true},
		{0, leastGrowth, false},
		{512 << 20, 50, false},
	} {
		at += c.allocates
		if ended, growth := r.look(at), r.growth(live); ended != c.ended || growth != c.growth {
			t.Errorf("period %d: the heap may grow by %d %%, burst ended: %v; expected %d %%, %v", i, growth, ended, c.growth, c.ended)
		}
	}
	if r.look(at + 1<<40); r.growth(1<<20) != burstGrowth || r.growth(4<<30) != leastGrowth {
		t.Error("in a burst a small heap grows by more than the most, or a large one by more than the least")
	}
}

// TestBoundHeapEnds: boundHeap restores the collector's setting when it ends.
func TestBoundHeapEnds(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	variable := make([]byte, 1<<20)
	runtime.GC()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); boundHeap(ctx) }()
	cancel()
	<-done
	if got := debug.SetGCPercent(before); got != 77 {
		t.Errorf("the heap may grow by %d %%, expected 77 as before", got)
	}
	runtime.KeepAlive(variable)
}
