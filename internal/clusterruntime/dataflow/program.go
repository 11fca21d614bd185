package dataflow

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
)

// Program is a graph that is ready to run. It is safe for concurrent use.
type Program struct {
	nodes  []node
	frames []frameShape // frames[0] is outside of loops
	roots  []int32      // nodes without inputs

	runs atomic.Uint32
	idle sync.Pool // *run
}

// node is a node with the data for its runs.
type node struct {
	source *graph.Node
	role   role
	kernel eager.Kernel   // of an ordinary node
	blocks bool           // may wait for others: runs in its own goroutine
	stops  bool           // ends early when its context ends
	took   atomic.Int64   // nanoseconds of late; 0: it has not run
	reads  []bool         // which inputs are read as values if they come as references to variables
	key    rendezvous.Key // of _Send and _Recv outside of loops
	number int            // of _Arg and _Retval

	frame      int32 // the frame in which it runs
	enters     int32 // of an Enter: the frame to which it leads
	constant   bool  // of an Enter: the value is the same in all iterations
	local      int32 // number within the frame
	firstInput int32 // index of its first input in an iteration
	inputs     int32
	pending    int32 // inputs needed before it runs
	out        []edge
	outputs    int
}

// edge leads from an output of a node to an input of another one.
type edge struct {
	output int32 // control if it carries no value
	to     int32
	input  int32
	enters bool // from an Enter
}

// control is the output of a control edge.
const control = -1

// frameShape is shared by all instances of a loop's frame.
type frameShape struct {
	name     string
	parent   int32
	pending  []int32 // inputs needed before each of its nodes runs
	inputs   int32
	enters   int32 // Enter nodes that lead to it
	parallel int   // concurrent iterations
}

// Compile prepares a graph. Its random ops continue from the states in random, which may be nil. It returns an error for ops
// without a kernel, and for loops whose frames do not nest.
func Compile(g *graph.Graph, random *eager.Generators) (*Program, error) {
	p := &Program{nodes: make([]node, len(g.Nodes())), frames: []frameShape{{parent: -1, parallel: 1}}}
	index := make(map[*graph.Node]int32, len(g.Nodes()))
	for i, n := range g.Nodes() {
		index[n] = int32(i)
		if err := p.nodes[i].resolve(n, random); err != nil {
			return nil, err
		}
	}
	for i, n := range g.Nodes() {
		if err := p.connect(int32(i), n, index); err != nil {
			return nil, err
		}
	}
	if err := p.place(); err != nil {
		return nil, err
	}
	if err := p.checkReceives(); err != nil {
		return nil, err
	}
	return p, nil
}

// connect adds the edges that lead to node i.
func (p *Program) connect(i int32, n *graph.Node, index map[*graph.Node]int32) error {
	to := &p.nodes[i]
	for k, in := range n.Inputs {
		from := &p.nodes[index[in.Node]]
		if in.Index < 0 || in.Index >= from.outputs {
			return fmt.Errorf("node %q (%s): input %d is output %d of %q (%s), which has %d outputs", n.Name, n.Op, k, in.Index, in.Node.Name, in.Node.Op, from.outputs)
		}
		from.out = append(from.out, edge{output: int32(in.Index), to: i, input: int32(k), enters: from.role == enter})
	}
	for _, c := range n.Control {
		from := &p.nodes[index[c]]
		from.out = append(from.out, edge{output: control, to: i})
	}
	to.inputs = int32(len(n.Inputs))
	to.pending = to.inputs + int32(len(n.Control))
	if to.role == merge { // one value, and all control edges: see run.arrive
		to.pending = 1 + 2*int32(len(n.Control))
	}
	if len(n.Inputs)+len(n.Control) == 0 {
		p.roots = append(p.roots, i)
	}
	return nil
}

// place finds the frame of each node, starting from the roots.
func (p *Program) place() error {
	const unknown = -1
	for i := range p.nodes {
		p.nodes[i].frame = unknown
	}
	frames := map[string]int32{}
	queue := append([]int32(nil), p.roots...)
	for _, i := range queue {
		p.nodes[i].frame = 0
	}
	for len(queue) > 0 {
		n := &p.nodes[queue[0]]
		queue = queue[1:]
		at, err := p.leads(n, frames)
		if err != nil {
			return err
		}
		for _, e := range n.out {
			switch to := &p.nodes[e.to]; to.frame {
			case unknown:
				to.frame = at
				queue = append(queue, e.to)
			case at:
			default:
				return fmt.Errorf("node %q (%s): its inputs come from the frames %q and %q: expected one frame", to.source.Name, to.source.Op, p.frames[to.frame].name, p.frames[at].name)
			}
		}
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.frame == unknown {
			return fmt.Errorf("node %q (%s) is in a cycle that nothing enters: expected Enter and NextIteration nodes", n.source.Name, n.source.Op)
		}
		f := &p.frames[n.frame]
		n.local, n.firstInput = int32(len(f.pending)), f.inputs
		f.pending = append(f.pending, n.pending)
		f.inputs += n.inputs
	}
	p.boundIterations()
	return p.checkCycles()
}

// leads returns the frame of n's outputs.
func (p *Program) leads(n *node, frames map[string]int32) (int32, error) {
	switch n.role {
	case enter:
		name := n.source.Str("frame_name")
		f, ok := frames[name]
		if !ok {
			f = int32(len(p.frames))
			frames[name] = f
			parallel := min(max(n.source.Int("parallel_iterations", 10), 1), maxParallel)
			p.frames = append(p.frames, frameShape{name: name, parent: n.frame, parallel: parallel})
		}
		if p.frames[f].parent != n.frame {
			return 0, fmt.Errorf("node %q (Enter): frame %q is entered from the frames %q and %q: expected one frame", n.source.Name, name, p.frames[p.frames[f].parent].name, p.frames[n.frame].name)
		}
		p.frames[f].enters++
		n.enters = f
		return f, nil
	case exit, next:
		if n.frame == 0 {
			return 0, fmt.Errorf("node %q (%s) is in no loop", n.source.Name, n.source.Op)
		}
		if n.role == exit {
			return p.frames[n.frame].parent, nil
		}
	}
	return n.frame, nil
}

// checkCycles refuses a cycle that does not pass through a NextIteration: its nodes would never run.
func (p *Program) checkCycles() error {
	pending := make([]int32, len(p.nodes))
	for i := range p.nodes {
		if n := &p.nodes[i]; n.role != next {
			for _, e := range n.out {
				pending[e.to]++
			}
		}
	}
	var queue []int32
	for i := range p.nodes {
		if pending[i] == 0 {
			queue = append(queue, int32(i))
		}
	}
	sorted := 0
	for ; len(queue) > 0; queue = queue[1:] {
		sorted++
		if n := &p.nodes[queue[0]]; n.role != next {
			for _, e := range n.out {
				if pending[e.to]--; pending[e.to] == 0 {
					queue = append(queue, e.to)
				}
			}
		}
	}
	if sorted == len(p.nodes) {
		return nil
	}
	for i := range p.nodes {
		if pending[i] > 0 {
			return fmt.Errorf("node %q (%s) is in a cycle, or behind one, without a NextIteration", p.nodes[i].source.Name, p.nodes[i].source.Op)
		}
	}
	return nil
}
