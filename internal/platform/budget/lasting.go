package budget

import (
	"runtime"
	"time"
)

// OpenLasting opens the account of a client that holds memory across requests, such as a session. It pays for pieces of memory while
// they live (Lend), even after its session has ended, so it need not be closed. Its limit is Limits.Request, whatever was received.
// Reservations that fail are tried again after a garbage collection.
func (s *Server) OpenLasting() *Account {
	a := s.Open()
	if a != nil {
		a.lasting = true
	}
	return a
}

// loan is a piece of memory and its account.
type loan struct {
	account *Account
	bytes   int
}

// Lend makes the account pay n bytes, reserved with ReserveModel, until the garbage collector finds that nothing refers to the piece of
// memory that at points into.
func Lend[T any](a *Account, at *T, n int) {
	if a != nil && n > 0 {
		runtime.AddCleanup(at, func(l loan) { l.account.collected(int64(l.bytes)) }, loan{a, n})
	}
}

const (
	// collectPause is the least time between collections after one that found little, unless much was taken since.
	collectPause = time.Second
	// attempts is how often the collector runs each time: memory that a step has just released may still be on a stack.
	attempts = 3
	// cleanupTime is how long the release of memory that the collector found may take.
	cleanupTime = 30 * time.Millisecond
)

// collected runs the garbage collector when memory is short, until enough is released. A run that found less than an eighth of the limit
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
