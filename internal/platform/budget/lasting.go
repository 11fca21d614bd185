package budget

import (
	"runtime"
	"time"
)

// OpenLasting begins the account of somebody who holds memory from one request to the next, such as a session. It pays for pieces of
// memory as long as they live (Lend), also after its session has ended: it need not be closed. Its limit is Limits.Request, whatever
// was received. What it may not take, it tries again when the collector has run.
func (s *Server) OpenLasting() *Account {
	a := s.Open()
	if a != nil {
		a.lasting = true
	}
	return a
}

// loan is what a piece of memory takes.
type loan struct {
	account *Account
	bytes   int
}

// Lend makes the account pay n bytes, which were taken with ReserveModel, until the collector finds that nothing refers to the piece of
// memory which at points into.
func Lend[T any](a *Account, at *T, n int) {
	if a != nil && n > 0 {
		runtime.AddCleanup(at, func(l loan) { l.account.collected(int64(l.bytes)) }, loan{a, n})
	}
}

const (
	// collectPause is the least time between attempts to find memory that found little, unless much was taken since.
	collectPause = time.Second
	// attempts are how often the collector runs for one attempt: what a step has just let go may still be on a stack.
	attempts = 3
	// cleanupTime is how long what the collector found may take to be given back.
	cleanupTime = 30 * time.Millisecond
)

// collected runs the collector where memory is short, until enough is given back. An attempt that found less than an eighth of the limit
// is not repeated for a while, unless as much was taken since.
func (s *Server) collected(enough func() bool) bool {
	s.collecting.Lock()
	defer s.collecting.Unlock()
	if enough() {
		return true
	}
	much := s.limits.Server / 8
	if time.Since(s.scarce) < collectPause && s.taken.Load() < much {
		return false
	}
	before, ok := s.used.Load(), false
	s.garbage.Store(0)
	s.taken.Store(0)
	for n := 0; !ok && n < attempts; n++ {
		runtime.GC()
		for end := time.Now().Add(cleanupTime); !ok && time.Now().Before(end); ok = enough() {
			time.Sleep(time.Millisecond)
		}
	}
	if before-s.used.Load() < much {
		s.scarce = time.Now()
	}
	return ok
}
