package admission

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// takeLimit is how long a client may receive none of the data that is written at once. Data that waits behind it, such as the
	// ends of refused calls, is not accounted for.
	takeLimit = time.Minute
	// readAhead is how many bytes are read from a client while it receives nothing. Then it has to receive something first.
	readAhead = 256 << 10
)

// writes tracks the writes of a connection.
type writes struct {
	n     atomic.Uint64 // begun and ended; odd during a write
	bytes atomic.Int64  // written by ended writes

	// of the goroutine that reads
	at    uint64
	ahead int

	waiting atomic.Bool
	mu      sync.Mutex
	ended   sync.Cond

	// of the goroutine that looks
	seen  uint64
	since time.Time
}

func (w *writes) begin() { w.n.Add(1) }

// end records that n bytes were written.
func (w *writes) end(n int) {
	w.bytes.Add(int64(n))
	w.n.Add(1)
	if w.waiting.Load() {
		w.mu.Lock()
		w.ended.Broadcast()
		w.mu.Unlock()
	}
}

// read records that n bytes have arrived. It waits for the end of a write during which many have arrived.
func (w *writes) read(n int) {
	now := w.n.Load()
	if now%2 == 0 || now != w.at {
		w.at, w.ahead = now, 0
		return
	}
	if w.ahead += n; w.ahead < readAhead {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting.Store(true)
	for w.n.Load() == now {
		w.ended.Wait()
	}
	w.waiting.Store(false)
}

// stalled reports whether the same write has been in progress for the limit. It must be called repeatedly.
func (w *writes) stalled(now time.Time, limit time.Duration) bool {
	n := w.n.Load()
	if n%2 == 0 || n != w.seen {
		w.seen, w.since = n, now
		return false
	}
	return now.Sub(w.since) >= limit
}

// look closes connections whose clients receive nothing, as long as there are connections.
func (p *Places) look() {
	now := time.Now()
	var stalled []*Place
	p.mu.Lock()
	for _, q := range []*queue{&p.fresh, &p.known} {
		for _, c := range q.origins {
			for e := c.places.Front(); e != nil; e = e.Next() {
				if place := e.Value.(*Place); place.writes.stalled(now, p.takeLimit) && !place.kept.Load() {
					stalled = append(stalled, place)
				}
			}
		}
	}
	if p.looking = p.open > 0; p.looking {
		time.AfterFunc(p.takeLimit/8, p.look)
	}
	p.mu.Unlock()
	for _, place := range stalled {
		place.cut("a connection is closed whose client takes nothing of what is written")
	}
}
