package server

import "time"

// Idle returns how long nobody has used the server: no call has been running, and no client that is connected has a session or graphs.
// A session whose client is gone does not count. A context of the EagerService does until it ends by its keep-alive.
func (s *Server) Idle() time.Duration {
	if s.clients.Open() > 0 && s.open() > 0 || s.eager.Kept() > 0 {
		return 0
	}
	return s.calls.Idle()
}
