package partition

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// after is a node that uses the value of a reference variable and runs after an update of it.
type after struct{ node, variable *graph.Node }

// maxFollowed bounds the edges that the search for nodes after updates follows, for all variables.
const maxFollowed = 1 << 24

// updates finds the nodes that run after updates of reference variables. Nodes are numbered in their order.
type updates struct {
	number   map[*graph.Node]int32
	users    [][]int32
	by       map[*graph.Node][]int32 // the updates of each variable
	readers  map[*graph.Node][]int32 // nodes that use the result of its Identity
	later    []int32                 // the last search that found a node
	searches int32
	followed int
}

// updatesBefore finds the nodes that use the values of variables and run after updates of these.
func updatesBefore(nodes []*graph.Node) (map[after]bool, error) {
	u := &updates{number: make(map[*graph.Node]int32, len(nodes)), users: make([][]int32, len(nodes)), later: make([]int32, len(nodes)),
		by: map[*graph.Node][]int32{}, readers: map[*graph.Node][]int32{}}
	for i, n := range nodes {
		u.number[n] = int32(i)
	}
	for i, n := range nodes {
		u.note(int32(i), n)
	}
	found := map[after]bool{}
	for v, readers := range u.readers {
		if err := u.search(v); err != nil {
			return nil, err
		}
		for _, n := range readers {
			if u.later[n] == u.searches {
				found[after{nodes[n], v}] = true
			}
		}
	}
	return found, nil
}

// note records the inputs of node i, and the nodes before it.
func (u *updates) note(i int32, n *graph.Node) {
	for k, in := range n.Inputs {
		u.follows(i, in.Node)
		if v, ok := readOf(in); ok {
			u.readers[v.Node] = append(u.readers[v.Node], i)
		}
		if def := ops.Find(n.Op); k == 0 && def != nil && def.InputAt(0, len(n.Inputs)).Ref && variable(in) {
			u.by[in.Node] = append(u.by[in.Node], i)
		}
	}
	for _, before := range n.Control {
		u.follows(i, before)
	}
}

// follows records that node i runs after another one, unless a feed makes that unnecessary.
func (u *updates) follows(i int32, before *graph.Node) {
	if b, ok := u.number[before]; ok {
		u.users[b] = append(u.users[b], i)
	}
}

// search finds all nodes that run after an update of a variable.
func (u *updates) search(v *graph.Node) error {
	u.searches++
	for queue := append([]int32(nil), u.by[v]...); len(queue) > 0; queue = queue[1:] {
		users := u.users[queue[0]]
		if u.followed += 1 + len(users); u.followed > maxFollowed {
			return fmt.Errorf("variable %q: too many nodes follow updates of reference variables: %w", v.Name, ErrUnsupported)
		}
		for _, n := range users {
			if u.later[n] != u.searches {
				u.later[n] = u.searches
				queue = append(queue, n)
			}
		}
	}
	return nil
}

// readOf returns the reference variable whose value an output is: the output of an Identity that waits for nothing else.
func readOf(o graph.Output) (graph.Output, bool) {
	read := o.Node
	if read.Op != "Identity" || len(read.Inputs) != 1 || len(read.Control) > 0 || !variable(read.Inputs[0]) {
		return graph.Output{}, false
	}
	return read.Inputs[0], true
}

// variable reports whether an output is a reference variable itself.
func variable(o graph.Output) bool {
	return len(o.Node.Inputs) == 0 && reference(cut{from: o.Node, index: o.Index})
}

// readAgain makes the copy of a node that runs after an update of a reference variable in its task read the variable at that
// time, as in TensorFlow. There the result of Identity shares the variable's memory, so the node sees the new value.
// SyncReplicasOptimizer and many hand-written programs rely on it.
func (d *divider) readAgain(n *graph.Node) error {
	c := d.copies[n]
	for i, in := range n.Inputs {
		read := in.Node
		v, ok := readOf(in)
		if !ok || d.isFed(in) || d.isFed(v) || !d.updated[after{n, v.Node}] || taskOf(d.at[v.Node]) != taskOf(d.at[n]) {
			continue
		}
		first := append([]*graph.Node(nil), c.Control...)
		for j, other := range c.Inputs {
			if j != i {
				first = append(first, other.Node)
			}
		}
		again, err := d.add(d.at[n], &graph.Node{Name: read.Name + "/_again", Op: read.Op, Attrs: read.Attrs, Inputs: []graph.Output{d.copies[v.Node].Out(v.Index)},
			Control: first, Outputs: read.Outputs})
		if err != nil {
			return err
		}
		c.Inputs[i] = again.Out(0)
	}
	return nil
}
