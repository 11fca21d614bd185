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
	// burstRoom is the same for a server whose steps move much, at most. Its heap grows by a quarter of what it allocates in a period:
	// a collection takes 20 ms of a processor, as long as a step that moves 100 MB.
	burstRoom, burstShare = 512 << 20, 4
	// leastGrowth and mostGrowth bound the same in percent, burstGrowth does in bursts. A collection of a heap that is variables for the
	// most part costs little: they hold no pointers.
	leastGrowth, mostGrowth, burstGrowth = 20, 100, 200
	// heapPeriod is how often the heap is looked at.
	heapPeriod = time.Second
	// heapRest is how many periods with few allocations are the end of a burst.
	heapRest = 2
)

// boundHeap keeps the heap of a server near what its variables take, until ctx ends: the collector's own rule lets it grow to twice
// that. In a burst of steps it may grow further, and after it the memory goes back to the system. It does nothing where GOGC says what is
// wanted.
func boundHeap(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	before := debug.SetGCPercent(mostGrowth)
	defer debug.SetGCPercent(before)
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(heap)
	now, rule := mostGrowth, heapRule{allocated: heap[1].Value.Uint64()}
	for {
		ended := rule.look(heap[1].Value.Uint64())
		if p := rule.growth(heap[0].Value.Uint64()); p != now {
			now = p
			debug.SetGCPercent(p)
		}
		if ended {
			debug.FreeOSMemory()
		}
		select {
		case <-time.After(heapPeriod):
		case <-ctx.Done():
			return
		}
		metrics.Read(heap)
	}
}

// heapRule says by how much the heap may grow.
type heapRule struct {
	allocated uint64 // until the last look
	most      uint64 // what a period of this burst allocated
	quiet     int    // periods with few allocations
}

// look notes what has been allocated since the process began, and reports whether a burst has just ended.
func (r *heapRule) look(allocated uint64) bool {
	period := allocated - r.allocated
	r.allocated = allocated
	if period > heapRoom {
		r.quiet, r.most = 0, max(r.most, period)
		return false
	}
	if r.quiet++; r.quiet >= heapRest {
		r.most = 0
	}
	return r.quiet == heapRest
}

// growth is by how many percent a heap with so many live bytes may grow.
func (r *heapRule) growth(live uint64) int {
	room, most := uint64(heapRoom), uint64(mostGrowth)
	if share := r.most / burstShare; share > room {
		room, most = min(share, burstRoom), burstGrowth
	}
	return int(min(max(room*100/max(live, 1), leastGrowth), most))
}
