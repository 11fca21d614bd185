package budget

import (
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/platform/hostmemory"
)

// What a request may hold where Limits.Request does not say: Base, and Factor times its bytes; Expansion besides where it
// has values that stand for many. With what the collector has not found yet, and what the transport holds, the
// process stays below 64 MiB and ten times the bytes, but for what the model takes for rows that were sent (ReserveModel), and as much again as
// it takes for these at once whatever their values (ReserveFixed).
const (
	Base      = 32 << 20
	Factor    = 8
	Expansion = 64 << 20
	// Ratio is how many bytes of a request Factor holds for, for each compressed one. Texts and numbers seldom become more; what the few
	// bytes of a bomb become is not multiplied.
	Ratio = 32
)

// Limits are how many bytes requests may hold.
type Limits struct {
	Server  int64 // all together; 0: three quarters of the memory that the process may use
	Request int64 // each; 0: as many as its own bytes allow, and no more than Server
}

// unknown is Limits.Server where the system's memory size is not known.
const unknown = 8 << 30

func (l *Limits) setDefaults() {
	if l.Server > 0 {
		return
	}
	memory, ok := hostmemory.Total()
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 && (!ok || limit < memory) {
		memory, ok = limit, true
	}
	if l.Server = memory / 4 * 3; !ok {
		l.Server = unknown
	}
}

// A Server limits what all requests of a server hold.
type Server struct {
	limits  Limits
	used    atomic.Int64
	garbage atomic.Int64 // bytes that became garbage since the collector ran last; not those that it found itself

	collecting sync.Mutex
	taken      atomic.Int64 // by lasting accounts since the collector was run for them
	scarce     time.Time    // when the collector was last run for little
	lastLarge  atomic.Int64 // when a large piece was taken last, in nanoseconds since start
	start      time.Time

	freeScheduled atomic.Bool // freeTimer runs
	mu            sync.Mutex
	freeTimer     *time.Timer // runs when memory may go back to the system; nil: there is nothing to give back
	isClosed      bool
}

// NewServer returns a Server with these limits; Close stops its timer.
func NewServer(l Limits) *Server {
	l.setDefaults()
	return &Server{limits: l, start: time.Now()}
}

// Limits returns the limits; only Request may be 0.
func (s *Server) Limits() Limits { return s.limits }

// Most returns how many bytes all together may hold, 0 where nobody counts.
func (s *Server) Most() int64 {
	if s == nil {
		return 0
	}
	return s.limits.Server
}

// Used returns how many bytes are counted.
func (s *Server) Used() int64 {
	if s == nil {
		return 0
	}
	return s.used.Load()
}

func (s *Server) reserve(n int64) bool {
	for {
		used := s.used.Load()
		if n > s.limits.Server-used {
			return false
		}
		if s.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

func (s *Server) release(n int64) { s.used.Add(-n) }

const (
	largeReserve = 1 << 20  // the smallest reservation before which the collector may run
	garbageLimit = 32 << 20 // garbage that is tolerated, as is an eighth of what is in use
	freeDelay    = time.Second
)

// collect runs the garbage collector before a large reservation where much was released: the collector's own trigger, a heap
// of twice the size, may be far.
func (s *Server) collect() {
	s.lastLarge.Store(int64(time.Since(s.start)))
	if s.garbage.Load() <= max(garbageLimit, s.used.Load()/8) || !s.collecting.TryLock() {
		return
	}
	defer s.collecting.Unlock()
	s.garbage.Store(0)
	runtime.GC()
	s.scheduleFree()
}

// scheduleFree schedules the return of memory to the system after large requests.
func (s *Server) scheduleFree() {
	if s.garbage.Load() > garbageLimit {
		s.lastLarge.Store(int64(time.Since(s.start))) // many small releases count as a large one
	}
	if s.lastLarge.Load() == 0 || s.freeScheduled.Load() { // free looks at lastLarge again once it is no longer scheduled
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.freeTimer == nil && !s.isClosed {
		s.freeTimer = time.AfterFunc(freeDelay, s.free)
		s.freeScheduled.Store(true)
	}
}

// FreeSoon schedules the return of memory to the system, as after large requests.
func (s *Server) FreeSoon() {
	s.lastLarge.Store(int64(time.Since(s.start)))
	s.scheduleFree()
}

// free returns memory to the system, or waits while large requests are still coming.
func (s *Server) free() {
	s.mu.Lock()
	if s.isClosed {
		s.mu.Unlock()
		return
	}
	s.freeScheduled.Store(false)
	last := s.lastLarge.Load()
	if wait := freeDelay - (time.Since(s.start) - time.Duration(last)); wait > 0 {
		s.freeTimer.Reset(wait)
		s.freeScheduled.Store(true)
		s.mu.Unlock()
		return
	}
	s.freeTimer = nil
	s.mu.Unlock()
	s.lastLarge.CompareAndSwap(last, 0)
	s.garbage.Store(0)
	runtime.GC() // pools keep what they have through one collection
	debug.FreeOSMemory()
}

// Close stops the Server's timer.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isClosed = true
	if s.freeTimer != nil {
		s.freeTimer.Stop()
	}
}
