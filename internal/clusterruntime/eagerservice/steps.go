package eagerservice

import "sync"

// maxSteps bounds the steps that a context records. A worker has no more.
const maxSteps = 1 << 14

// steps are the steps in which parts of other tasks' functions ran in this task, until those tasks clean them up. The zero
// value is empty. It is safe for concurrent use.
type steps struct {
	mu   sync.Mutex
	all  map[int64]bool
	over bool // the context has ended
}

// add records a step. Beyond the limit another one is forgotten; the worker ends it when it has too many.
func (s *steps) add(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	if s.all == nil {
		s.all = map[int64]bool{}
	}
	for other := range s.all {
		if len(s.all) < maxSteps {
			break
		}
		delete(s.all, other)
	}
	s.all[id] = true
}

// has reports whether a step was neither cleaned up nor ended with the context.
func (s *steps) has(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

func (s *steps) remove(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}

// clear forgets all steps when the context ends, and returns them.
func (s *steps) clear() map[int64]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all, s.over = nil, true
	return all
}
