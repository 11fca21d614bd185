package session

import (
	"maps"
	"slices"
)

// shed frees the idle programs of all plans, but for those of keep.
func (s *Session) shed(keep *programs) {
	s.mu.RLock()
	plans := slices.Collect(maps.Values(s.plans))
	s.mu.RUnlock()
	for _, ps := range programsOf(plans) {
		if ps != keep {
			ps.shed()
		}
	}
}
