package page

import (
	"maps"
	"sync"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/serving/shadow"
)

// maxVersions bounds how many versions have counts of their own.
const maxVersions = 1000

// versions counts the calls of each version since its first call.
type versions struct {
	mu  sync.Mutex
	all map[servable.ID]*counts
}

type counts struct {
	latency slot // of all calls, whatever their second
	copies  map[shadow.Outcome]int
}

// Calls are the calls that a version received. Latencies are milliseconds of the calls that it answered, 0 if there is none.
type Calls struct {
	Count  int                    `json:"count"`
	Errors int                    `json:"errors"`
	P50    float64                `json:"p50"`
	P99    float64                `json:"p99"`
	Copies map[shadow.Outcome]int `json:"copies,omitempty"` // of requests to other versions, by outcome
}

// counts returns the counts of a version; nil if there is no room for another one. v.mu is held.
func (v *versions) counts(id servable.ID) *counts {
	c := v.all[id]
	if c == nil && len(v.all) < maxVersions {
		c = &counts{}
		if v.all == nil {
			v.all = map[servable.ID]*counts{}
		}
		v.all[id] = c
	}
	return c
}

func (v *versions) add(call inference.Call) {
	if call.ID.Name == "" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if c := v.counts(call.ID); c != nil {
		c.latency.add(call)
	}
}

func (v *versions) addCopy(r shadow.Result) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.counts(r.ID)
	if c == nil {
		return
	}
	if c.copies == nil {
		c.copies = map[shadow.Outcome]int{}
	}
	c.copies[r.Outcome]++
}

// of returns the calls of a version; nil if there were none.
func (v *versions) of(id servable.ID) *Calls {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.all[id]
	if c == nil {
		return nil
	}
	out := &Calls{Count: c.latency.count, Errors: c.latency.errors, P50: c.latency.quantile(0.5), P99: c.latency.quantile(0.99)}
	if len(c.copies) > 0 {
		out.Copies = maps.Clone(c.copies)
	}
	return out
}

// keep forgets versions that are not available in a catalog.
func (v *versions) keep(c servable.Catalog) {
	here := map[servable.ID]bool{}
	for _, name := range c.Models() {
		for _, s := range c.Status(name) {
			here[s.ID] = s.State != servable.End
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.all, func(id servable.ID, _ *counts) bool { return !here[id] })
}
