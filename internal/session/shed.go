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
	for _, p := range plans {
		p.mu.Lock()
		for _, v := range p.variants {
			for _, part := range v.stages {
				if c, ok := part.(*compiledStage); ok {
					c.shed(keep)
				}
			}
		}
		p.mu.Unlock()
	}
}

func (s *compiledStage) shed(keep *programs) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sp := range s.specials {
		if sp.programs != keep {
			sp.programs.shed()
		}
	}
}
