package regions

import (
	"encoding/binary"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/eager"
)

const (
	// fewNodes is the number of nodes from which on a region with a heavy op is worth a program; manyNodes is the same for other regions.
	fewNodes, manyNodes = 3, 12
	// maxWaits bounds the memory for the sets of nodes that others wait for, and maxUnited the time to find them: beyond, nothing is fused.
	maxWaits, maxUnited = 1 << 22, 1 << 24
)

// grouper finds the regions of a graph.
type grouper struct {
	waiting func(*graph.Node) bool // whether a node may wait for other steps or tasks
	order   []*graph.Node          // nodes with no branch or loop before them, sorted
	at      map[*graph.Node]place
	sets    map[string]int // numbers of the sets of nodes to wait for, by content
	content [][]int32      // the sets by number
	total   int            // elements of all sets
	united  int            // elements of the sets that were united
}

// place determines which nodes a node may share a region with.
type place struct {
	fused bool
	level int // alternations between fused and other nodes on the longest path
	waits int // number of the set that the node depends on
}

// fusible reports whether a node is purely numeric: it depends only on its inputs.
func fusible(n *graph.Node) bool {
	d := ops.Find(n.Op)
	if d == nil || d.State != ops.Pure || d.Opaque || len(n.Outputs) == 0 || len(n.Inputs) == 0 || !eager.Supported(n.Op) || len(eager.Called(n)) > 0 {
		return false
	}
	for _, t := range n.Outputs {
		if t.DType.Size() == 0 {
			return false
		}
	}
	for _, in := range n.Inputs {
		from := ops.Find(in.Node.Op)
		if in.DType().Size() == 0 || from != nil && from.OutputAt(in.Index, len(in.Node.Outputs)).Ref {
			return false
		}
	}
	return true
}

// sort orders the nodes without control flow before them.
func (g *grouper) sort(nodes []*graph.Node) {
	left, after := make(map[*graph.Node]int, len(nodes)), make(map[*graph.Node][]*graph.Node, len(nodes))
	var queue []*graph.Node
	for _, n := range nodes {
		for _, in := range n.Inputs {
			after[in.Node] = append(after[in.Node], n)
		}
		for _, c := range n.Control {
			after[c] = append(after[c], n)
		}
		if left[n] = len(n.Inputs) + len(n.Control); left[n] == 0 {
			queue = append(queue, n)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		if controlFlow[n.Op] {
			continue
		}
		g.order = append(g.order, n)
		for _, next := range after[n] {
			if left[next]--; left[next] == 0 {
				queue = append(queue, next)
			}
		}
	}
}

// controlFlow are the ops after which values may be dead, or arrive several times.
var controlFlow = map[string]bool{"Switch": true, "RefSwitch": true, "_SwitchN": true, "Merge": true, "RefMerge": true, "Enter": true, "RefEnter": true,
	"Exit": true, "RefExit": true, "NextIteration": true, "RefNextIteration": true, "LoopCond": true, "ControlTrigger": true}

// locate finds the place of each node. It returns false if the limits are exceeded.
func (g *grouper) locate() bool {
	for i, n := range g.order {
		p := place{fused: fusible(n)}
		if p.fused {
			p.level = 1
		}
		var before []int
		add := func(from *graph.Node) {
			q := g.at[from]
			if before = append(before, q.waits); q.fused != p.fused {
				q.level++
			}
			p.level = max(p.level, q.level)
		}
		for _, in := range n.Inputs {
			add(in.Node)
		}
		for _, c := range n.Control {
			add(c)
		}
		own := int32(-1)
		if g.waiting(n) {
			own = int32(i)
		}
		if p.waits = g.union(before, own); g.total > maxWaits || g.united > maxUnited {
			return false
		}
		g.at[n] = p
	}
	return true
}

// union returns the number of the union of others, plus own if that is not negative.
func (g *grouper) union(others []int, own int32) int {
	slices.Sort(others)
	if others = slices.Compact(others); own < 0 && len(others) == 1 {
		return others[0]
	}
	var all []int32
	for _, k := range others {
		all = append(all, g.content[k]...)
	}
	if own >= 0 {
		all = append(all, own)
	}
	g.united += len(all)
	slices.Sort(all)
	all = slices.Compact(all)
	key := make([]byte, 0, 4*len(all))
	for _, v := range all {
		key = binary.LittleEndian.AppendUint32(key, uint32(v))
	}
	k, ok := g.sets[string(key)]
	if !ok {
		k = len(g.content)
		g.sets[string(key)], g.content, g.total = k, append(g.content, all), g.total+len(all)+1
	}
	return k
}

// group returns the regions that are worth a program, with their nodes in order.
func group(nodes []*graph.Node, waiting func(*graph.Node) bool) (all [][]*graph.Node) {
	g := &grouper{waiting: waiting, at: make(map[*graph.Node]place, len(nodes)), sets: map[string]int{}}
	if g.sort(nodes); !g.locate() {
		return nil
	}
	of := map[*graph.Node]*graph.Node{} // union-find: the parent of a fused node; a root is its own
	find := func(n *graph.Node) *graph.Node {
		for of[n] != n {
			of[n] = of[of[n]]
			n = of[n]
		}
		return n
	}
	for _, n := range g.order {
		if !g.at[n].fused {
			continue
		}
		of[n] = n
		join := func(before *graph.Node) {
			if g.at[before] == g.at[n] {
				of[find(before)] = find(n)
			}
		}
		for _, in := range n.Inputs {
			join(in.Node)
		}
		for _, c := range n.Control { // otherwise two regions might depend on each other
			join(c)
		}
	}
	members := map[*graph.Node][]*graph.Node{}
	for _, n := range g.order {
		if of[n] != nil {
			members[find(n)] = append(members[find(n)], n)
		}
	}
	for _, n := range g.order {
		if m := members[n]; of[n] == n && worth(m) {
			all = append(all, m)
		}
	}
	return all
}

// worth reports whether a program is faster than its nodes one by one.
func worth(nodes []*graph.Node) bool {
	if len(nodes) >= manyNodes {
		return true
	}
	heavy := slices.ContainsFunc(nodes, func(n *graph.Node) bool { return ops.Find(n.Op).Heavy })
	return heavy && len(nodes) >= fewNodes
}
