package partition

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// frame is a loop of the client's graph. Nodes outside of loops have none.
type frame struct {
	name     string
	parent   *frame
	parallel int
	cond     *graph.Node // LoopCond, nil for none
}

// String returns the name of the frame, "" outside of loops.
func (f *frame) String() string {
	if f == nil {
		return ""
	}
	return f.name
}

// frames are the loops of a request's nodes: the loop of each node's outputs.
type frames struct {
	sorted []*graph.Node // each node after its inputs, except those from the previous iteration
	gives  map[*graph.Node]*frame
	byName map[string]*frame
}

// framesOf finds the loops of nodes. Cycles without NextIteration are refused, as are nodes whose inputs are in different loops.
func framesOf(need *needs) (*frames, error) {
	f := &frames{gives: make(map[*graph.Node]*frame, len(need.nodes)), byName: map[string]*frame{}}
	if err := f.sort(need); err != nil {
		return nil, err
	}
	for _, n := range f.sorted {
		if err := f.resolve(need, n); err != nil {
			return nil, err
		}
	}
	for _, n := range f.sorted {
		if _, err := f.runs(need, n); err != nil { // including inputs from the previous iteration
			return nil, err
		}
	}
	return f, nil
}

func nextIteration(n *graph.Node) bool { return n.Op == "NextIteration" || n.Op == "RefNextIteration" }
func isEnter(n *graph.Node) bool       { return n.Op == "Enter" || n.Op == "RefEnter" }
func isExit(n *graph.Node) bool        { return n.Op == "Exit" || n.Op == "RefExit" }
func isSwitch(n *graph.Node) bool {
	return n.Op == "Switch" || n.Op == "RefSwitch" || n.Op == "_SwitchN"
}

// sort orders the nodes. The text of its error is TensorFlow's.
func (f *frames) sort(need *needs) error {
	waits := make(map[*graph.Node]int, len(need.nodes))
	follow := make(map[*graph.Node][]*graph.Node, len(need.nodes))
	for _, n := range need.nodes {
		for _, b := range need.before(n) {
			if !nextIteration(b) {
				waits[n]++
				follow[b] = append(follow[b], n)
			}
		}
		if waits[n] == 0 {
			f.sorted = append(f.sorted, n)
		}
	}
	for i := 0; i < len(f.sorted); i++ {
		for _, n := range follow[f.sorted[i]] {
			if waits[n]--; waits[n] == 0 {
				f.sorted = append(f.sorted, n)
			}
		}
	}
	for _, n := range need.nodes {
		if waits[n] > 0 {
			return fmt.Errorf("Graph is invalid, contains a cycle with %d nodes, including: %s", len(need.nodes)-len(f.sorted), n.Name) //nolint:staticcheck // clients know this text
		}
	}
	return nil
}

// runs returns the loop in which a node runs: the loop of its inputs, as far as they are known.
func (f *frames) runs(need *needs, n *graph.Node) (*frame, error) {
	var at *frame
	var first *graph.Node
	for _, b := range need.before(n) {
		of, known := f.gives[b]
		switch {
		case !known:
		case first == nil:
			at, first = of, b
		case of != at:
			return nil, fmt.Errorf("{{node %s}} has inputs from different frames. The input {{node %s}} is in frame '%v'. The input {{node %s}} is in frame '%v'.", n.Name, b.Name, of, first.Name, at) //nolint:staticcheck // clients know this text
		}
	}
	return at, nil
}

// resolve finds the loop of a node's outputs.
func (f *frames) resolve(need *needs, n *graph.Node) error {
	at, err := f.runs(need, n)
	if err != nil {
		return err
	}
	switch {
	case isEnter(n):
		return f.enter(n, at)
	case at == nil && (isExit(n) || nextIteration(n)):
		return fmt.Errorf("node %q (%s) is in no loop", n.Name, n.Op)
	case isExit(n):
		at = at.parent
	case n.Op == "LoopCond" && at != nil:
		at.cond = n
	}
	f.gives[n] = at
	return nil
}

func (f *frames) enter(n *graph.Node, at *frame) error {
	name := n.Str("frame_name")
	if name == "" {
		return fmt.Errorf("The Enter {{node %s}} must have a frame name.", n.Name) //nolint:staticcheck // clients know this text
	}
	to := f.byName[name]
	if to == nil {
		to = &frame{name: name, parent: at, parallel: n.Int("parallel_iterations", 10)}
		f.byName[name] = to
	}
	if to.parent != at {
		return fmt.Errorf("node %q (Enter): frame %q is entered from the frames %q and %q: expected one frame", n.Name, name, to.parent, at)
	}
	f.gives[n] = to
	return nil
}
