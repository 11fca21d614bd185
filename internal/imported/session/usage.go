package session

import (
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Memory returns how many bytes an idle session holds: variables and constants, their packed copies
// that kernels read, and what idle programs keep for the next run. Tables are not counted. The session must not be closed meanwhile.
func (s *Session) Memory() int64 {
	n := s.constants + s.vars.engine.Memory() + s.idle.Load()
	for _, v := range s.env.Resources.Variables() {
		n += int64(v.Bytes)
	}
	s.mu.RLock()
	plans := slices.Collect(maps.Values(s.plans))
	s.mu.RUnlock()
	for _, ps := range programsOf(plans) {
		ps.mu.Lock()
		for _, p := range ps.idle {
			n += p.program.Packed()
		}
		ps.mu.Unlock()
	}
	return n
}

// Queued returns the number of runs that wait for others to end.
func (s *Session) Queued() int { return int(s.waiting.Load()) }

// constantBytes returns how many bytes the tensors in the attributes of a graph hold, counting each once.
func constantBytes(g *graph.Graph) (n int64) {
	seen := map[*tensor.Tensor]bool{}
	for _, node := range g.Nodes() {
		for _, a := range node.Attrs {
			if t, ok := a.(*tensor.Tensor); ok && !seen[t] {
				seen[t] = true
				n += int64(t.MemoryBytes())
			}
		}
	}
	return n
}
