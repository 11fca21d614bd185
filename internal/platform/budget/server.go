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

// A request may hold the following if Limits.Request is not set: Base, plus Factor times its bytes, plus Expansion if it has values that
// stand for many. With garbage that is not collected yet, and the transport's memory, the process stays below 64 MiB plus ten times the
// bytes, apart from model memory for rows that were sent (ReserveModel), and as much again as the most of it held at once whatever their
// values (ReserveFixed).
const (
	Base      = 32 << 20
	Factor    = 8
	Expansion = 64 << 20
	// Ratio is how many bytes of a request, for each compressed one, are multiplied by Factor. Texts and numbers seldom expand more; the
	// further bytes of a decompression bomb are not multiplied.
	Ratio = 32
)

// Limits are limits on the bytes that requests hold.
type Limits struct {
	Server  int64 // all together; 0: three quarters of the memory available to the process
	Request int64 // each; 0: it depends on the request's bytes, up to Server
}

// unknown is the default of Limits.Server if the system's memory size is unknown.
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

// A Server limits the memory of all requests of a server.
type Server struct {
	limits  Limits
	used    atomic.Int64
	garbage atomic.Int64 // bytes that became garbage since the last collection, except those that the collector found

	collecting sync.Mutex
	taken      atomic.Int64 // by lasting accounts since the collector was run for them
	scarce     time.Time    // when the collector last found little
	lastLarge  atomic.Int64 // when a large piece was last taken, in nanoseconds since start
	start      time.Time

	freeScheduled atomic.Bool // freeTimer runs
	mu            sync.Mutex
	freeTimer     *time.Timer // runs when memory may return to the system; nil: there is nothing to return
	isClosed      bool
}

// NewServer returns a Server with these limits; Close stops its timer.
func NewServer(l Limits) *Server {
	l.setDefaults()
	return &Server{limits: l, start: time.Now()}
}

// Limits returns the limits; only Request may be 0.
func (s *Server) Limits() Limits { return s.limits }

// Most returns how many bytes all requests together may hold; 0: unlimited.
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
	garbageLimit = 32 << 20 // tolerated garbage, as is an eighth of the memory in use
	freeDelay    = time.Second
)

// collect runs the garbage collector before a large reservation if much was released: the collector's own trigger, a heap of twice the
// size, may be far away.
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
	if s.lastLarge.Load() == 0 || s.freeScheduled.Load() { // free checks lastLarge again after it is no longer scheduled
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

// free returns memory to the system, or waits while large requests keep coming.
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
	runtime.GC() // pools keep their content through one collection
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
