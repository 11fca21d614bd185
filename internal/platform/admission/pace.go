package admission

import (
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// pace slows down the reading of gRPC's connections while many calls wait for a processor: calls whose goroutine has not begun, and calls
// of closed connections, which still have to end. A client that opens calls, closes the connection and comes again can make such calls
// faster than they end, and everybody else's goroutines wait behind theirs.
type pace struct {
	most    int64 // calls that may wait before connections are read more slowly
	backlog atomic.Int64
	step    time.Duration
	steps   int

	seed         maphash.Seed
	fresh, known [lanes]sync.Mutex // of connections that had no call, and of those that had one: who holds a lane reads next
}

const (
	// mostBacklog are some milliseconds of work.
	mostBacklog = 1 << 10
	// lanes are how many connections are read at a time in a crowd. Those of an address share a lane.
	lanes = 64
	// paceSteps are how often a connection looks whether fewer calls wait. Then it is read in any case: calls that go on may wait for it.
	paceSteps = 20
	// crowdedRead are the bytes that a connection is read at once in a crowd; firstRead where it has had no call yet. A call may take 20.
	crowdedRead = 4 << 10
	firstRead   = 512
	// firstTimes is how many times mostBacklog may wait while a connection that has had no call is read without a wait: it may be a probe's,
	// and brings few calls at once.
	firstTimes = 16
)

func newPace() pace {
	return pace{most: mostBacklog, step: time.Millisecond, steps: paceSteps, seed: maphash.MakeSeed()}
}

// crowded reports whether too many calls wait.
func (p *pace) crowded() bool { return p.backlog.Load() > p.most }

// piece is how many bytes a connection is read at once.
func (p *pace) piece(place *Place, n int) int {
	switch {
	case !p.crowded():
		return n
	case !place.called.Load():
		return min(n, firstRead)
	}
	return min(n, crowdedRead)
}

// wait returns when few calls wait, and false if that takes too long. A connection whose client has closed it is an error: nobody waits for
// its calls.
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
