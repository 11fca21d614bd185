package session

import (
	"maps"
	"slices"
)

// Idle returns how many bytes idle programs hold.
func (s *Session) Idle() int64 { return s.idle.Load() }

// Evict frees the idle programs. The next run makes new ones.
func (s *Session) Evict() { s.evict(nil) }

// evict frees the idle programs of all plans except one's.
func (s *Session) evict(except *programs) {
	s.mu.RLock()
	plans := slices.Collect(maps.Values(s.plans))
	s.mu.RUnlock()
	for _, ps := range programsOf(plans) {
		if ps != except {
			ps.evict()
		}
	}
}
