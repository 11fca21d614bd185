package admission

import (
	"runtime"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/platform/hostmemory"
)

// pace slows down the reading of connections while there are too many goroutines. gRPC begins one for each call that comes, and those of a
// connection that is closed still have to run to their end: a client that opens calls, goes, and comes again makes more than the processors
// can end.
type pace struct {
	most       int
	goroutines func() int
	step       time.Duration

	fresh, known sync.Mutex // held by the connection of each kind that may read next: strangers wait behind strangers
}

const (
	// mostGoroutines is how many there may be besides those of connections, and goroutineShare the memory of the machine that one of them
	// needs there to be.
	mostGoroutines = 1 << 15
	goroutineShare = 64 << 10
	// ofConnection is how many goroutines a connection may need for itself.
	ofConnection = 4
	// freshSteps and knownSteps are how often a connection that had no call, or one, looks whether there are fewer: those that are to be closed
	// are closed soon, with the calls that they have.
	freshSteps, knownSteps = 4, 20
)

func newPace() pace {
	most := int64(mostGoroutines)
	if total, ok := hostmemory.Total(); ok {
		most = min(most, total/goroutineShare)
	}
	return pace{most: int(most), goroutines: runtime.NumGoroutine, step: time.Millisecond}
}

// pass returns true when there are few goroutines beside so many connections, and false where that takes too long. Of several connections that wait
// by a lock one passes at a time, since what it has read may begin many.
func (p *pace) pass(by *sync.Mutex, steps int, connections func() int) bool {
	if p.goroutines() <= p.most {
		return true
	}
	by.Lock()
	defer by.Unlock()
	for range steps {
		if p.goroutines() <= p.most+ofConnection*connections() {
			return true
		}
		time.Sleep(p.step)
	}
	return false
}
