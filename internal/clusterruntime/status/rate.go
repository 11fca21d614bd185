package status

import (
	"math"
	"sync"
	"time"
)

const (
	window    = 10 // seconds that count
	perDouble = 4  // latency classes for each doubling
	classes   = 120
)

// rate counts steps by second, and their latencies.
type rate struct {
	mu    sync.Mutex
	slots [window + 1]slot
}

type slot struct {
	second    int64
	count     int
	latencies [classes]int
}

// add counts a step that ended now.
func (r *rate) add(now time.Time, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.slots[now.Unix()%int64(len(r.slots))]
	if s.second != now.Unix() {
		*s = slot{second: now.Unix()}
	}
	s.count++
	s.latencies[class(took)]++
}

// class is the latency class: 0 up to a microsecond, then four classes per doubling.
func class(d time.Duration) int {
	us := float64(d) / float64(time.Microsecond)
	if us <= 1 {
		return 0
	}
	return min(int(math.Ceil(perDouble*math.Log2(us))), classes-1)
}

// steps are the steps of the last seconds, without the current second.
func (r *rate) steps(now time.Time) (s Steps) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all slot
	for _, one := range r.slots {
		if age := now.Unix() - one.second; age < 1 || age > window {
			continue
		}
		all.count += one.count
		for i, n := range one.latencies {
			all.latencies[i] += n
		}
	}
	s.PerSecond = float64(all.count) / window
	s.P50, s.P99 = all.quantile(0.5), all.quantile(0.99)
	return s
}

// quantile is the upper end of the latency class with the quantile, in milliseconds: at most
// 19% too high.
func (s *slot) quantile(q float64) float64 {
	need := int(math.Ceil(q * float64(s.count)))
	for c, n := range s.latencies {
		if need -= n; need <= 0 && s.count > 0 {
			return math.Exp2(float64(c)/perDouble) / 1000
		}
	}
	return 0
}
