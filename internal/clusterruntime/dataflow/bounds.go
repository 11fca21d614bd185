package dataflow

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/imported/eager"
)

const (
	// maxParallel bounds parallel_iterations.
	maxParallel = 1 << 10
	// maxSlots bounds the nodes and inputs of all iterations of all loops at the same time. Each loop has its share.
	maxSlots = 1 << 22
	// maxReceives bounds the waiting nodes of a graph, each of which has a goroutine.
	maxReceives = 1 << 16
)

// boundIterations lowers parallel_iterations if the iterations of a loop, and of the loops around it, would take too much
// memory. The results do not change: one iteration at a time is enough for every loop.
func (p *Program) boundIterations() {
	share := max(maxSlots/len(p.frames), 1)
	outer := make([]int, len(p.frames)) // iterations of a loop at the same time, in all its instances
	outer[0] = 1
	for i := 1; i < len(p.frames); i++ { // a frame comes after the one around it
		f := &p.frames[i]
		around := outer[f.parent]
		slots := max(len(f.pending)+int(f.inputs), 1)
		f.parallel = max(min(f.parallel, share/slots/around), 1)
		outer[i] = around * f.parallel
	}
}

// checkReceives refuses a graph with too many waiting nodes.
func (p *Program) checkReceives() error {
	waiting := 0
	for i := range p.nodes {
		if p.nodes[i].blocks {
			waiting++
		}
	}
	if waiting > maxReceives {
		return fmt.Errorf("%w: the graph has %d nodes that wait for others (_Recv), at most %d are possible", eager.ErrLimit, waiting, maxReceives)
	}
	return nil
}
