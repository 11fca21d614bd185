package cli

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestHeapOfServers(t *testing.T) {
	for live, want := range map[uint64]int{0: 100, 1 << 20: 100, 32 << 20: 100, 64 << 20: 50, 128 << 20: 25, 160 << 20: 20, 1 << 40: 20} {
		if got := growthOf(live); got != want {
			t.Errorf("a heap of %d bytes may grow by %d %%, expected %d", live, got, want)
		}
	}
}

// TestBoundHeapEnds: the collector's rule is the old one afterwards.
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
