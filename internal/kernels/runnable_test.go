package kernels

import (
	"runtime"
	"sync/atomic"
	"testing"
)

func TestCrowdSeesWhoWaitsForACPU(t *testing.T) {
	withProcs(t, 1)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			runtime.Gosched()
		}
	}()
	defer func() { stop.Store(true); <-done }()
	c := newCrowd()
	if !c.waits() {
		t.Error("a goroutine is ready to run on the only CPU, which the test uses: expected to see it")
	}
	requireNoAllocs(t, "waits", func() { c.waits() })
}
