package cluster

import (
	"slices"
	"sync"
	"time"
)

// opened are the nodes of this process.
var opened nodes

// nodes is a set of nodes.
type nodes struct {
	mu  sync.Mutex
	all []*Node
}

func (s *nodes) add(n *Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, n)
}

func (s *nodes) remove(n *Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(o *Node) bool { return o == n })
}

// at returns the nodes of an address.
func (s *nodes) at(address string) (found []*Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.all {
		if address != "" && n.config.Address == address {
			found = append(found, n)
		}
	}
	return found
}

// Abort closes this process's nodes at an address as the end of their process would: calls do not finish,
// and peers are not told. It is for tests of task loss within one process.
func Abort(address string) {
	for _, n := range opened.at(address) {
		if err := n.close(n.abortServer); err != nil {
			n.config.Log.Debug("connections of a task that was aborted", "task", n.config.Task.String(), "err", err)
		}
	}
}

// abortServer closes all connections, and waits for handlers as long as Close does.
func (n *Node) abortServer() {
	stopped := make(chan struct{})
	go func() {
		n.server.Stop()
		n.served.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(closeGrace):
		n.leftBehind()
	}
}
