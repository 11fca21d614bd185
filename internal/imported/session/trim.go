package session

import (
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/runtime/device"
)

// A program on the host that was unused for trimAfter frees the memory of its large batches if it holds more than trimAbove.
const (
	trimAbove = 8 << 20
	trimAfter = 5 * time.Second
)

// scheduleTrim makes sure that trim is called.
func (s *Session) scheduleTrim() {
	if s.dev.Kind() != device.KindHost {
		return // planning is expensive there, and the memory is not the process's
	}
	s.trimMu.Lock()
	defer s.trimMu.Unlock()
	if s.trimTimer == nil && !s.trimStopped {
		s.trimTimer = time.AfterFunc(trimAfter, s.trim)
	}
}

// trim frees memory of programs that were not used lately, and schedules another look if others hold much.
func (s *Session) trim() {
	s.trimMu.Lock()
	s.trimTimer = nil
	s.trimMu.Unlock()
	s.vars.engine.Compact()
	s.mu.RLock()
	plans := slices.Collect(maps.Values(s.plans))
	s.mu.RUnlock()
	freed, later := int64(0), false
	for _, ps := range programsOf(plans) {
		f, w := ps.trim(time.Now().Add(-trimAfter))
		freed, later = freed+f, later || w
	}
	if later {
		s.scheduleTrim()
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

// countedBy notes the server that counts requests' memory, and so returns it to the system now and then.
func (s *Session) countedBy(m *budget.Server) {
	if m != nil && s.memory.Load() != m {
		s.memory.Store(m)
	}
}

// stopTrimming ends trimming for good.
func (s *Session) stopTrimming() {
	s.trimMu.Lock()
	defer s.trimMu.Unlock()
	s.trimStopped = true
	if s.trimTimer != nil {
		s.trimTimer.Stop()
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

// trim shrinks the programs that have been idle since before to one row. It returns the freed bytes, and whether other idle ones hold much.
func (ps *programs) trim(before time.Time) (freed int64, later bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.idle {
		if p.held <= trimAbove {
			continue
		}
		if p.since.After(before) {
			later = true
			continue
		}
		if p.program.Shrink(1) != nil {
			continue // its next run plans it again
		}
		now := int64(p.program.Memory())
		ps.s.idle.Add(now - p.held)
		freed += p.held - now
		p.held = now
	}
	return freed, later
}
