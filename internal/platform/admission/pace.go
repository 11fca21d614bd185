package admission

import (
	"runtime"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/platform/hostmemory"
)

// pace slows down the reading of connections while there are too many goroutines. gRPC begins one for each call, and the calls of a closed
// connection still have to end: a client that opens calls, closes the connection and comes again can make goroutines faster than they end.
type pace struct {
	most       int
	goroutines func() int
	step       time.Duration

	fresh, known sync.Mutex // of connections that had no call, and of those that had one: who holds it reads next
}

const (
	// mostGoroutines is how many there may be besides what connections need. A machine with less than goroutineShare of memory for each may have fewer.
	mostGoroutines = 1 << 15
	goroutineShare = 64 << 10
	// ofConnection is how many goroutines a connection may need for itself.
	ofConnection = 4
	// freshSteps and knownSteps are how often a connection looks whether there are fewer: one that had no call is closed after freshSteps, so
	// that no more of its calls begin.
	freshSteps, knownSteps = 4, 20
)

func newPace() pace {
	most := int64(mostGoroutines)
	if total, ok := hostmemory.Total(); ok {
		most = min(most, total/goroutineShare)
	}
	return pace{most: int(most), goroutines: runtime.NumGoroutine, step: time.Millisecond}
}

// pass returns true when there are few goroutines beside so many connections, or the connection is gone, and false if that takes too long. One
// connection at a time passes by a lock, since what it has read may begin many goroutines.
func (p *pace) pass(by *sync.Mutex, steps int, connections func() int, gone func() bool) bool {
	if p.goroutines() <= p.most {
		return true
	}
	by.Lock()
	defer by.Unlock()
	for range steps {
		if gone() || p.goroutines() <= p.most+ofConnection*connections() {
			return true
		}
		time.Sleep(p.step)
	}
	return false
}
