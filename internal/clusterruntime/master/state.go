package master

import (
	"cmp"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/status"
)

// Describe fills in the sessions, the most recently used first.
func (m *Master) Describe(s *status.State) {
	m.mu.Lock()
	var open []*session
	for _, one := range m.sessions {
		open = append(open, one)
	}
	m.mu.Unlock()
	for _, one := range open {
		s.Sessions = append(s.Sessions, one.describe())
	}
	slices.SortFunc(s.Sessions, func(a, b status.Session) int {
		return cmp.Or(cmp.Compare(a.Idle, b.Idle), cmp.Compare(a.Handle, b.Handle))
	})
}

func (s *session) describe() status.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := status.Session{Handle: s.handle, Nodes: len(s.def.GetNode()), Bytes: s.bytes.Load(), Running: len(s.running)}
	if len(s.running) == 0 {
		d.Idle = time.Since(s.active).Seconds()
	}
	return d
}
