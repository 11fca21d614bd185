package moment

import (
	"sync/atomic"
	"time"
)

// began is the origin of moments. Wall clock times, such as nanoseconds since 1970, would jump when the clock is set: a server that
// has just got the time from the network would take everything it knows for long past.
var began = time.Now()

// Moment is a time; the zero value is no time.
type Moment struct{ after atomic.Int64 } // nanoseconds after began, plus 1

// Note sets it to the current time.
func (m *Moment) Note() { m.after.Store(int64(time.Since(began)) + 1) }

// Clear sets it to no time.
func (m *Moment) Clear() { m.after.Store(0) }

// Time returns the time, or false if there is none.
func (m *Moment) Time() (time.Time, bool) {
	n := m.after.Load()
	return began.Add(time.Duration(n - 1)), n != 0
}

// Lasts reports whether there is a time and d has passed since then.
func (m *Moment) Lasts(d time.Duration) bool {
	t, ok := m.Time()
	return ok && time.Since(t) >= d
}
