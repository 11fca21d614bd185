package server

import "time"

// Idle returns how long the server has been unused: no call was running, and no connected client had a session or graphs. A session
// whose client is gone does not count; a context of the EagerService does until its keep-alive time ends.
func (s *Server) Idle() time.Duration {
	if s.clients.Open() > 0 && s.open() > 0 || s.eager.Kept() > 0 {
		return 0
	}
	return s.calls.Idle()
}
