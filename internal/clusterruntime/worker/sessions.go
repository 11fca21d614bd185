package worker

import (
	"slices"

	"github.com/goestimator/goestimator/internal/imported/eager"
)

// Limits on the state of sessions that have no graph at present; their master may register another one.
const (
	maxIdle       = 64
	maxIdleStates = 1 << 18 // of random ops, of all idle sessions
)

// sessions is the state that a worker keeps for each session. As in TensorFlow's workers, it has the states of random ops
// by node name, so that a node continues where it stopped in another graph of the session.
type sessions struct {
	of   map[string]*session
	idle []string // the most recently used last
}

type session struct {
	graphs int // registered or prepared
	random eager.Generators
}

func newSessions() sessions { return sessions{of: map[string]*session{}} }

// enter counts a graph of the session and returns the states of its random ops.
func (w *Worker) enter(handle string) *eager.Generators {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sessions.of[handle]
	if s == nil {
		s = &session{}
		w.sessions.of[handle] = s
	}
	if s.graphs++; s.graphs == 1 {
		w.sessions.idle = slices.DeleteFunc(w.sessions.idle, func(h string) bool { return h == handle })
	}
	return &s.random
}

// leave undoes enter. For a session without graphs, only the states of random ops are kept. The mutex is held.
func (w *Worker) leave(handle string) {
	s := w.sessions.of[handle]
	if s.graphs--; s.graphs > 0 {
		return
	}
	if own := w.opened[handle]; own != nil && own.resources != nil {
		own.resources.Forget(handle)
	} else {
		w.resources.Forget(handle)
	}
	delete(w.accounts, handle) // its memory is paid for until the collector finds it
	if s.random.Len() == 0 {
		delete(w.sessions.of, handle)
		return
	}
	w.sessions.idle = append(w.sessions.idle, handle)
	w.sessions.shrink()
}

// shrink forgets the least recently used idle sessions, as far as there are too many.
func (s *sessions) shrink() {
	states := 0
	for _, h := range s.idle {
		states += s.of[h].random.Len()
	}
	for len(s.idle) > maxIdle || states > maxIdleStates {
		states -= s.of[s.idle[0]].random.Len()
		delete(s.of, s.idle[0])
		s.idle = s.idle[1:]
	}
}

// forget ends a session without graphs when its master says so.
func (s *sessions) forget(handle string) {
	if at := slices.Index(s.idle, handle); at >= 0 {
		delete(s.of, handle)
		s.idle = slices.Delete(s.idle, at, at+1)
	}
}
