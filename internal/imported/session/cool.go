package session

import (
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/serving/budget"
)

// A program of the host that nobody used for coolAfter gives up the memory of its large batches, where it holds more than coolAbove.
const (
	coolAbove = 8 << 20
	coolAfter = 5 * time.Second
)

// coolLater sees to it that cool is called.
func (s *Session) coolLater() {
	if s.dev.Kind() != device.KindHost {
		return // planning is dear there, and the memory is not the process's
	}
	s.cooling.Lock()
	defer s.cooling.Unlock()
	if s.cooler == nil && !s.cold {
		s.cooler = time.AfterFunc(coolAfter, s.cool)
	}
}

// cool takes memory from the programs that were not used lately, and looks again later where others hold much.
func (s *Session) cool() {
	s.cooling.Lock()
	s.cooler = nil
	s.cooling.Unlock()
	s.mu.RLock()
	plans := slices.Collect(maps.Values(s.plans))
	s.mu.RUnlock()
	freed, warm := int64(0), false
	for _, ps := range programsOf(plans) {
		f, w := ps.cool(time.Now().Add(-coolAfter))
		freed, warm = freed+f, warm || w
	}
	if warm {
		s.coolLater()
	}
	if freed == 0 {
		return
	}
	if m := s.memory.Load(); m != nil {
		m.FreeSoon()
	} else {
		debug.FreeOSMemory()
	}
}

// countedBy notes who counts the memory of requests, and so gives it back to the system now and then.
func (s *Session) countedBy(m *budget.Server) {
	if m != nil && s.memory.Load() != m {
		s.memory.Store(m)
	}
}

// stopCooling ends it for good.
func (s *Session) stopCooling() {
	s.cooling.Lock()
	defer s.cooling.Unlock()
	s.cold = true
	if s.cooler != nil {
		s.cooler.Stop()
	}
}

// programsOf returns all programs of plans.
func programsOf(plans []*plan) (all []*programs) {
	for _, p := range plans {
		p.mu.Lock()
		for _, v := range p.variants {
			for _, part := range v.stages {
				if c, ok := part.(*compiledStage); ok {
					c.mu.Lock()
					for _, sp := range c.specials {
						all = append(all, sp.programs)
					}
					c.mu.Unlock()
				}
			}
		}
		p.mu.Unlock()
	}
	return all
}

// cool shrinks the programs that are idle since before then to one row, and reports what that freed, and whether others hold much.
func (ps *programs) cool(before time.Time) (freed int64, warm bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.idle {
		if p.held <= coolAbove {
			continue
		}
		if p.since.After(before) {
			warm = true
			continue
		}
		if p.program.Shrink(1) != nil {
			continue // it is planned again by its next run
		}
		now := int64(p.program.Memory())
		ps.s.idle.Add(now - p.held)
		freed += p.held - now
		p.held = now
	}
	return freed, warm
}
