package server

import (
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/status"
)

// State returns the state of the task.
func (s *Server) State() status.State {
	out := status.State{Task: s.peers.own.String(), Uptime: time.Since(s.started).Seconds(), Idle: s.Idle().Seconds(), Connections: int64(s.clients.Open()), Peers: s.peers.state()}
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	out.Memory = status.Memory{Held: s.memory.Used(), Limit: s.memory.Limits().Server, Heap: int64(heap[0].Value.Uint64()), Goroutines: runtime.NumGoroutine()}
	out.Steps.Running = s.calls.Steps()
	for _, describe := range s.describe {
		describe(&out)
	}
	return out
}

// state returns the other tasks with the states of the connections to them.
func (p *peers) state() (all []status.Peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.Tasks() {
		if t == p.own {
			continue
		}
		address := p.addresses[t]
		one := status.Peer{Task: t.String(), Address: address, State: "none"}
		if c := p.conns[address]; c != nil {
			one.State = strings.ToLower(c.GetState().String())
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b status.Peer) int { return strings.Compare(a.Task, b.Task) })
	return all
}
