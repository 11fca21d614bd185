package cluster

import "testing"

// TestIdleConnectionsAreNotPruned: a caller that asks for one connection too
// many keeps the ones that it has, in memory or over sockets.
func TestIdleConnectionsAreNotPruned(t *testing.T) {
	for name, pair := range map[string]func(*testing.T) (from, to *Node){
		"memory":  func(t *testing.T) (from, to *Node) { from, to, _ = local(t); return from, to },
		"sockets": func(t *testing.T) (from, to *Node) { return sockets(t, nil, echo()) },
	} {
		t.Run(name, func(t *testing.T) {
			from, to := pair(t)
			s := open(t, from, "/test.Echo/Stream")
			exchange(t, s, "before")
			finish(t, s)
			for carrier := range to.bulkServer.carriers() {
				to.bulkServer.awaitIdle()
				to.bulkServer.prune(carrier)
			}
			if n := to.bulkServer.count(); n != 1 {
				t.Errorf("%d connections are left, expected 1", n)
			}
			s = open(t, from, "/test.Echo/Stream")
			exchange(t, s, "after")
			finish(t, s)
			if n := to.bulkServer.count(); n != 1 {
				t.Errorf("%d connections for streams one after the other, expected 1", n)
			}
		})
	}
}

// awaitIdle waits until the connections serve no stream.
func (s *bulkServer) awaitIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.slots {
		<-l.idle
		l.idle <- struct{}{}
	}
}
