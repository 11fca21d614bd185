package page

import (
	"math"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/serving/inference"
)

const (
	seconds   = 120 // that the charts show
	perDouble = 4   // latency classes for each doubling
	classes   = 100 // from 1 µs on: up to half a minute
	maxModels = 200 // with charts of their own
)

// others stands for unknown models, and for models beyond maxModels.
const others = "(other)"

// traffic counts calls by second and model.
type traffic struct {
	mu     sync.Mutex
	models map[string]*ring
}

// ring holds the last seconds of a model; slots whose second is too old are stale.
type ring [seconds]slot

type slot struct {
	second    int64 // Unix time
	count     int
	errors    int
	latencies [classes]uint32 // of calls that were answered
}

func (t *traffic) add(c inference.Call) {
	name := c.ID.Name
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.models[name]
	if r == nil && (name == "" || len(t.models) >= maxModels) {
		name = others
		r = t.models[name]
	}
	if r == nil {
		r = &ring{}
		if t.models == nil {
			t.models = map[string]*ring{}
		}
		t.models[name] = r
	}
	now := time.Now().Unix()
	s := &r[now%seconds]
	if s.second != now {
		*s = slot{second: now}
	}
	s.add(c)
}

func (s *slot) add(c inference.Call) {
	s.count++
	if c.Err != nil {
		s.errors++
		return
	}
	s.latencies[class(c.Latency)]++
}

// class is the latency class: 0 up to a microsecond, then four classes per doubling.
func class(d time.Duration) int {
	us := float64(d) / float64(time.Microsecond)
	if us <= 1 {
		return 0
	}
	return min(int(math.Ceil(perDouble*math.Log2(us))), classes-1)
}

// Traffic is the traffic of the last two minutes, without the current second.
type Traffic struct {
	From   int64              `json:"from"` // Unix time of the first point
	Models map[string]Journal `json:"models"`
}

// Journal is the traffic of a model, with a point for each second. Latencies are milliseconds, 0 where no call
// was answered.
type Journal struct {
	Count  []int     `json:"count"`
	Errors []int     `json:"errors"`
	P50    []float64 `json:"p50"`
	P99    []float64 `json:"p99"`
}

func (t *traffic) window() Traffic {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := time.Now().Unix() - seconds + 1
	out := Traffic{From: from, Models: map[string]Journal{}}
	for name, r := range t.models {
		var j Journal
		for sec := from; sec < from+seconds-1; sec++ {
			s := r[sec%seconds]
			if s.second != sec {
				s = slot{}
			}
			j.Count = append(j.Count, s.count)
			j.Errors = append(j.Errors, s.errors)
			j.P50 = append(j.P50, s.quantile(0.5))
			j.P99 = append(j.P99, s.quantile(0.99))
		}
		out.Models[name] = j
	}
	return out
}

// quantile is the upper end of the latency class with the quantile, in milliseconds: at most 19% too high.
func (s *slot) quantile(q float64) float64 {
	n := s.count - s.errors
	if n == 0 {
		return 0
	}
	need := uint32(math.Ceil(q * float64(n)))
	for c, k := range s.latencies {
		if k >= need {
			return math.Exp2(float64(c)/perDouble) / 1000
		}
		need -= k
	}
	return 0
}
