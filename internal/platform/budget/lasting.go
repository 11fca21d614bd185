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
		runtime.AddCleanup(at, func(l loan) { l.account.ReleaseModel(l.bytes) }, loan{a, n})
	}
}

const (
	// collectPause is the least time between two runs of the collector that gave back little.
	collectPause = time.Second
	// cleanupTime is how long what the collector found may take to be given back.
	cleanupTime = 100 * time.Millisecond
)

// collected runs the collector where memory is short, until enough is given back. A run that gave back less than an eighth of the limit
// is not repeated for a while.
func (s *Server) collected(enough func() bool) bool {
	s.collecting.Lock()
	defer s.collecting.Unlock()
	if enough() {
		return true
	}
	if time.Since(s.scarce) < collectPause {
		return false
	}
	before := s.used.Load()
	s.garbage.Store(0)
	runtime.GC()
	ok := false
	for end := time.Now().Add(cleanupTime); !ok && time.Now().Before(end); ok = enough() {
		time.Sleep(time.Millisecond)
	}
	if before-s.used.Load() < s.limits.Server/8 {
		s.scarce = time.Now()
	}
	return ok
}
