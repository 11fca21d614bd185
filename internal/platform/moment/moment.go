package moment

import (
	"sync/atomic"
	"time"
)

// began is what moments count from. A time of the wall clock alone, such as its nanoseconds since 1970, would move when somebody sets
// that clock: a server that has just got the time from the network would take all it knows for long past.
var began = time.Now()

// Moment is a time, or none, which is the zero value.
type Moment struct{ after atomic.Int64 } // nanoseconds after began, and 1

// Note makes it the present time.
func (m *Moment) Note() { m.after.Store(int64(time.Since(began)) + 1) }

// Clear makes it none.
func (m *Moment) Clear() { m.after.Store(0) }

// Time returns the time; false where there is none.
func (m *Moment) Time() (time.Time, bool) {
	n := m.after.Load()
	return began.Add(time.Duration(n - 1)), n != 0
}

// Lasts reports whether there is a time, and d has passed since.
func (m *Moment) Lasts(d time.Duration) bool {
	t, ok := m.Time()
	return ok && time.Since(t) >= d
}
