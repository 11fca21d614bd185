package cli

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// heapRoom is how much the heap of a server may grow between two collections of garbage, at least.
	heapRoom = 32 << 20
	// leastGrowth and mostGrowth bound the same in percent. A collection of a heap that is variables for the most part costs little: they
	// hold no pointers.
	leastGrowth, mostGrowth = 20, 100
	// heapPeriod is how often the heap is looked at.
	heapPeriod = time.Second
	// heapRest is how many periods with few allocations are the end of a burst.
	heapRest = 2
)

// boundHeap keeps the heap of a server near what its variables take, until ctx ends: the collector's own rule lets it grow to twice
// that. After a burst of steps the memory goes back to the system. It does nothing where GOGC says what is wanted.
func boundHeap(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	before := debug.SetGCPercent(mostGrowth)
	defer debug.SetGCPercent(before)
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	now, allocated, quiet := mostGrowth, uint64(0), 0
	for {
		metrics.Read(heap)
		if p := growthOf(heap[0].Value.Uint64()); p != now {
			now = p
			debug.SetGCPercent(p)
		}
		if quiet++; heap[1].Value.Uint64()-allocated > heapRoom {
			quiet = 0
		}
		if allocated = heap[1].Value.Uint64(); quiet == heapRest {
			debug.FreeOSMemory()
		}
		select {
		case <-time.After(heapPeriod):
		case <-ctx.Done():
			return
		}
	}
}

// growthOf is by how many percent a heap with so many live bytes may grow.
func growthOf(live uint64) int {
	return int(min(max(heapRoom*100/max(live, 1), leastGrowth), mostGrowth))
}
