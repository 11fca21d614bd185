package queue

import (
	"fmt"
	"sync/atomic"
)

// Room is the memory that waiting elements of queues, accumulators and barriers share. It is safe for concurrent use.
type Room struct {
	limit int64
	used  atomic.Int64
}

// NewRoom returns a Room of limit bytes.
func NewRoom(limit int64) *Room { return &Room{limit: limit} }

// Used returns the bytes in use.
func (r *Room) Used() int64 { return r.used.Load() }

// take takes n bytes. If too few are left, it fails with ErrLimit; name says for what.
func (r *Room) take(name string, n int) error {
	if used := r.used.Add(int64(n)); used > r.limit {
		r.used.Add(int64(-n))
		return &Error{ErrLimit, fmt.Sprintf("%s: another %d bytes: queues have %d bytes, at most %d are possible", name, n, used-int64(n), r.limit)}
	}
	return nil
}

func (r *Room) give(n int) { r.used.Add(int64(-n)) }
