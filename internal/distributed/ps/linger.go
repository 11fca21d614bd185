package ps

import "context"

// Linger continues to serve, in a process that has to end, until the chief has read
// a last checkpoint or finished, or until ctx ends: the chief was probably asked to
// end, too. Without a session it returns immediately.
func (s *Server) Linger(ctx context.Context) {
	s.mu.Lock()
	x := s.session
	s.mu.Unlock()
	if x == nil {
		return
	}
	before := -1
	for {
		x.mu.Lock()
		changed, n := x.changed, x.checkpoints
		x.mu.Unlock()
		if before < 0 {
			before = n
		}
		if n > before {
			return
		}
		select {
		case <-changed:
		case <-s.finished:
			return
		case <-ctx.Done():
			return
		}
	}
}

// noteCheckpoint records that a checkpoint was read.
func (s *session) noteCheckpoint() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkpoints++
	s.signal()
}
