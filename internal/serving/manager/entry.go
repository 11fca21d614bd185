package manager

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
)

// entry is one version of a model through its life. All but refs and drained is
// guarded by the manager's lock; model and since are set before the entry is published.
type entry struct {
	id          servable.ID
	dir         string
	fingerprint string // of the directory, when loading began
	aspired     bool
	state       servable.State
	err         error
	model       servable.Model
	since       time.Time // when it became available
	abandon     func()    // ends the wait for another attempt to load
	again       *again    // the wait for another attempt to load; nil: none

	refs    atomic.Int64
	drained chan struct{}
	once    sync.Once
}

// again is a failed version's wait for another attempt to load.
type again struct {
	last    string        // fingerprint of the directory at the last poll
	changed chan struct{} // closed when the fingerprint differs from the last attempt's and was the same in two polls
}

// look records the fingerprint that a poll has found; before is the fingerprint at the last attempt.
func (a *again) look(now, before string) {
	if now == a.last && now != before {
		select {
		case <-a.changed:
		default:
			close(a.changed)
		}
	}
	a.last = now
}

// retired is what retire adds to refs. No number of users makes up for it, so a negative count says that no
// use may begin.
const retired = math.MinInt64 / 2

func newEntry(id servable.ID, dir string) *entry {
	return &entry{id: id, dir: dir, state: servable.Start, drained: make(chan struct{}), abandon: func() {}}
}

// acquire counts a user, unless the entry is retired.
func (e *entry) acquire() bool {
	if e.refs.Add(1) > 0 {
		return true
	}
	e.release()
	return false
}

func (e *entry) release() {
	if e.refs.Add(-1) == retired {
		e.once.Do(func() { close(e.drained) })
	}
}

// retire refuses new users; drained is closed when the last user is gone.
func (e *entry) retire() {
	if e.refs.Add(retired) == retired {
		e.once.Do(func() { close(e.drained) })
	}
}

// handle is one use of an entry.
type handle struct {
	e    *entry
	done atomic.Bool
}

// ID implements servable.Handle.
func (h *handle) ID() servable.ID { return h.e.id }

// Model implements servable.Handle.
func (h *handle) Model() servable.Model { return h.e.model }

// Release implements servable.Handle; only the first call counts.
func (h *handle) Release() {
	if !h.done.Swap(true) {
		h.e.release()
	}
}
