package session

import (
	"maps"
	"slices"
)

// evict frees the idle programs of all plans but except.
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
