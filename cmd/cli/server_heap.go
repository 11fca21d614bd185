package cli

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// heapRoom is the least number of bytes by which a server's heap may grow between two garbage collections.
	heapRoom = 32 << 20
	// burstRoom is the greatest such number if steps allocate much. The heap may then grow by 1/burstShare of what a period allocates:
	// a collection takes 20 ms of processor time, as long as a step that moves 100 MB.
	burstRoom, burstShare = 512 << 20, 4
	// leastGrowth and mostGrowth bound the growth in percent; in bursts, burstGrowth replaces mostGrowth. Collecting a heap that consists
	// mostly of variables costs little, since they hold no pointers.
	leastGrowth, mostGrowth, burstGrowth = 20, 100, 200
	// heapPeriod is the time between two measurements of the heap.
	heapPeriod = time.Second
	// heapRest is the number of periods with few allocations that ends a burst.
	heapRest = 2
)

// boundHeap keeps the heap of a server close to the size of its variables until ctx ends; the collector's default lets it grow to twice
// that. In a burst of steps the heap may grow further, and afterwards the memory goes back to the system. If GOGC is set, boundHeap
// does nothing.
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

// heapRule decides how much the heap may grow.
type heapRule struct {
	allocated uint64 // at the last call of look
	most      uint64 // the largest allocation of a period in this burst
	quiet     int    // successive periods with few allocations
}

// look records the bytes allocated since the process began, and reports whether a burst has just ended.
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

// growth is the percentage by which a heap with so many live bytes may grow.
func (r *heapRule) growth(live uint64) int {
	room, most := uint64(heapRoom), uint64(mostGrowth)
	if share := r.most / burstShare; share > room {
		room, most = min(share, burstRoom), burstGrowth
	}
	return int(min(max(room*100/max(live, 1), leastGrowth), most))
}
