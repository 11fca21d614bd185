package dataset

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/platform/budget"
)

// ErrLimit says that passes would keep, or a tensor would take, more memory than allowed.
var ErrLimit = errors.New("too much memory")

// Room counts the bytes that passes keep: buffers of shuffled, prefetched and cached elements. It is safe for concurrent use.
type Room struct {
	most int64
	paid *budget.Account // also counts; nil: no account does
	held atomic.Int64
}

// NewRoom returns a Room of most bytes.
func NewRoom(most int64) *Room { return &Room{most: most} }

// PaidRoom returns a Room whose bytes an account pays for.
func PaidRoom(a *budget.Account) *Room { return &Room{most: math.MaxInt64, paid: a} }

// Held returns the bytes that are kept.
func (r *Room) Held() int64 { return r.held.Load() }

// take counts bytes that are about to be kept.
func (r *Room) take(n int) error {
	if held := r.held.Add(int64(n)); held > r.most {
		r.held.Add(-int64(n))
		return fmt.Errorf("%w: the buffers of input pipelines hold %d bytes, at most %d are possible: make buffers or batches smaller", ErrLimit, held-int64(n), r.most)
	}
	if err := r.paid.Reserve(n); err != nil {
		r.held.Add(-int64(n))
		return err
	}
	return nil
}

// give returns bytes that are not kept any more.
func (r *Room) give(n int) {
	r.held.Add(-int64(n))
	r.paid.Release(n)
}
