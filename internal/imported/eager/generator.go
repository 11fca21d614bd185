package eager

import (
	"math/rand/v2"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// generator is the state of a random op. It is safe for concurrent use.
type generator struct {
	mu   sync.Mutex
	rand kernels.Rand
}

// reserve returns the current stream and advances the state by n counters.
func (g *generator) reserve(n uint64) kernels.Rand {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.rand
	g.rand = r.Skip(n)
	return r
}

// Generators holds the states of random ops by node name, so that a node continues the sequence of the node with the same name
// in an earlier graph. It is safe for concurrent use.
type Generators struct {
	mu sync.Mutex
	of map[string]*generator
}

// Prepare is the function Prepare for a node whose random numbers continue from g.
func (g *Generators) Prepare(n *graph.Node) (Kernel, error) {
	p, err := prepare(n, g)
	if err != nil {
		return nil, err
	}
	return p.run, nil
}

// Len returns the number of states.
func (g *Generators) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.of)
}

// generator returns the state for the node: a new one, or the one of its name in generators. If neither seed is set, they are random.
func (s *site) generator() *generator {
	seed, seed2 := uint64(s.node.Int("seed", 0)), uint64(s.node.Int("seed2", 0))
	if seed == 0 && seed2 == 0 {
		seed, seed2 = rand.Uint64(), rand.Uint64()
	}
	own := &generator{rand: kernels.Seeded(seed, seed2)}
	if s.generators == nil {
		return own
	}
	s.generators.mu.Lock()
	defer s.generators.mu.Unlock()
	if known := s.generators.of[s.node.Name]; known != nil {
		return known
	}
	if s.generators.of == nil {
		s.generators.of = map[string]*generator{}
	}
	s.generators.of[s.node.Name] = own
	return own
}
