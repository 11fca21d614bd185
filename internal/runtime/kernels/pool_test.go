package kernels

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// marker counts how often each index was done.
type marker struct {
	counts []int32
	grain  int
	torn   atomic.Bool
}

func (m *marker) Run(lo, hi int) {
	if lo%m.grain != 0 || (hi%m.grain != 0 && hi != len(m.counts)) {
		m.torn.Store(true)
	}
	for i := lo; i < hi; i++ {
		atomic.AddInt32(&m.counts[i], 1)
	}
}

func TestParallelCoversEveryIndexOnce(t *testing.T) {
	defer SetThreads(0)
	rapid.Check(t, func(t *rapid.T) {
		n, grain := rapid.IntRange(0, 5000).Draw(t, "n"), rapid.IntRange(1, 600).Draw(t, "grain")
		SetThreads(rapid.IntRange(0, 4).Draw(t, "threads"))
		m := &marker{counts: make([]int32, n), grain: grain}
		Parallel(n, grain, m)
		for i, c := range m.counts {
			if c != 1 {
				t.Fatalf("index %d was done %d times", i, c)
			}
		}
		if m.torn.Load() {
			t.Fatal("a range does not start at a multiple of the grain")
		}
	})
}

// withProcs makes the pool use n threads even on a smaller machine.
func withProcs(t *testing.T, n int) {
	t.Helper()
	old := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

type nested struct{ inner *marker }

func (n nested) Run(lo, hi int) {
	for range hi - lo {
		Parallel(len(n.inner.counts), 1, n.inner)
	}
}

func TestParallelNestedAndConcurrent(t *testing.T) {
	withProcs(t, 4)
	m := &marker{counts: make([]int32, 100), grain: 1}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { Parallel(16, 1, nested{m}) })
	}
	wg.Wait()
	for i, c := range m.counts {
		if c != 8*16 {
			t.Fatalf("index %d was done %d times, want %d", i, c, 8*16)
		}
	}
}

type failing struct{ at int }

func (f failing) Run(lo, hi int) {
	if lo <= f.at && f.at < hi {
		panic("task failed")
	}
}

func TestParallelCarriesPanics(t *testing.T) {
	withProcs(t, 4)
	for at := range 64 {
		func() {
			defer func() {
				if v := recover(); v != "task failed" {
					t.Fatalf("recovered %v, want the task's panic", v)
				}
			}()
			Parallel(64, 1, failing{at})
		}()
	}
	m := &marker{counts: make([]int32, 64), grain: 1}
	Parallel(64, 1, m)
	for i, c := range m.counts {
		if c != 1 {
			t.Fatalf("after panics, index %d was done %d times", i, c)
		}
	}
}

func TestStopWorkers(t *testing.T) {
	withProcs(t, 3)
	for range 20 {
		m := &marker{counts: make([]int32, 1000), grain: 1}
		Parallel(1000, 1, m)
		StopWorkers()
		if workers.started != 0 {
			t.Fatal("workers are still counted after StopWorkers")
		}
	}
}

func TestThreadsHonoursGOMAXPROCS(t *testing.T) {
	withProcs(t, 3)
	defer SetThreads(0)
	for _, c := range []struct{ set, want int }{{0, 3}, {2, 2}, {9, 3}, {-1, 3}} {
		SetThreads(c.set)
		if got := Threads(); got != c.want {
			t.Errorf("SetThreads(%d) with GOMAXPROCS 3: Threads() = %d, want %d", c.set, got, c.want)
		}
	}
}

func TestParallelDoesNotAllocate(t *testing.T) {
	m := &marker{counts: make([]int32, 1000), grain: 10}
	requireNoAllocs(t, "Parallel", func() { Parallel(1000, 10, m) })
}

type nothing struct{}

func (nothing) Run(int, int) {}

func BenchmarkParallelEmpty(b *testing.B) {
	for b.Loop() {
		Parallel(64, 1, nothing{})
	}
}
