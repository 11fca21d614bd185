package admission

import (
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// pace slows down reading gRPC's connections while many calls wait for a processor: calls whose goroutine has not begun, and calls of
// closed connections, which still have to end. A client that opens calls, closes the connection and connects again can make such calls
// faster than they end, and all other goroutines wait behind theirs.
type pace struct {
	most    int64 // calls that may wait before connections are read more slowly
	backlog atomic.Int64
	step    time.Duration
	steps   int

	seed         maphash.Seed
	fresh, known [lanes]sync.Mutex // for connections without a call so far, and with one: the holder of a lane reads next
}

const (
	// mostBacklog is some milliseconds of work.
	mostBacklog = 1 << 10
	// lanes is how many connections are read at a time in a crowd. Connections of the same address share a lane.
	lanes = 64
	// paceSteps is how often a connection checks whether fewer calls wait. Then it is read in any case, since running calls may wait for it.
	paceSteps = 20
	// crowdedRead is how many bytes are read at once from a connection in a crowd, or firstRead before its first call. A call may take 20.
	crowdedRead = 4 << 10
	firstRead   = 512
	// firstTimes × mostBacklog calls may wait while a connection without a call so far is read without a wait: it may belong to a health
	// probe, and brings few calls at once.
	firstTimes = 16
)

func newPace() pace {
	return pace{most: mostBacklog, step: time.Millisecond, steps: paceSteps, seed: maphash.MakeSeed()}
}

// crowded reports whether too many calls wait.
func (p *pace) crowded() bool { return p.backlog.Load() > p.most }

// piece is how many bytes are read at once from a connection.
func (p *pace) piece(place *Place, n int) int {
	switch {
	case !p.crowded():
		return n
	case !place.called.Load():
		return min(n, firstRead)
	}
	return min(n, crowdedRead)
}

// wait returns when few calls wait, or false if that takes too long. If the client has closed the connection it returns an error, since
// nobody waits for its calls.
func (p *pace) wait(place *Place) (few bool, err error) {
	if n := p.backlog.Load(); n <= p.most || n <= firstTimes*p.most && !place.called.Load() {
		return true, nil
	}
	lane := &p.lanesOf(place)[maphash.Comparable(p.seed, place.from)%lanes]
	lane.Lock()
	defer lane.Unlock()
	if p.crowded() && peerClosed(place.raw) {
		return true, errLeft
	}
	for range p.steps {
		if place.gone() || !p.crowded() {
			return true, nil
		}
		time.Sleep(p.step)
	}
	return false, nil
}

var errLeft = errors.New("the client has closed the connection")

func (p *pace) lanesOf(place *Place) *[lanes]sync.Mutex {
	if place.had.Load() {
		return &p.known
	}
	return &p.fresh
}
