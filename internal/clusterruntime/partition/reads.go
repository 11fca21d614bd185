package partition

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// after is a node that runs after an update of a reference variable.
type after struct{ node, variable *graph.Node }

// updatesBefore finds the nodes that run after updates of variables.
func updatesBefore(nodes []*graph.Node) map[after]bool {
	users := map[*graph.Node][]*graph.Node{}
	for _, n := range nodes {
		for _, in := range n.Inputs {
			users[in.Node] = append(users[in.Node], n)
		}
		for _, before := range n.Control {
			users[before] = append(users[before], n)
		}
	}
	found := map[after]bool{}
	for _, n := range nodes {
		def := ops.Find(n.Op)
		if def == nil || len(n.Inputs) == 0 || !def.InputAt(0, len(n.Inputs)).Ref || !variable(n.Inputs[0]) {
			continue
		}
		for queue := []*graph.Node{n}; len(queue) > 0; {
			users := users[queue[0]]
			queue = queue[1:]
			for _, u := range users {
				if at := (after{u, n.Inputs[0].Node}); !found[at] {
					found[at] = true
					queue = append(queue, u)
				}
			}
		}
	}
	return found
}

// variable reports whether an output is a reference variable itself.
func variable(o graph.Output) bool {
	return len(o.Node.Inputs) == 0 && reference(cut{from: o.Node, index: o.Index})
}

// readAgain lets the copy of a node that runs after an update of a reference variable of its task read the variable then, as in
// TensorFlow. There what Identity makes of a variable shares the variable's memory, and the node finds the new value.
// SyncReplicasOptimizer and many programs that were written by hand count on it.
func (d *divider) readAgain(n *graph.Node) error {
	c := d.copies[n]
	for i, in := range n.Inputs {
		read := in.Node
		if d.fed[in] != nil || read.Op != "Identity" || len(read.Inputs) != 1 || len(read.Control) > 0 {
			continue
		}
		v := read.Inputs[0]
		if !variable(v) || d.fed[v] != nil || !d.updated[after{n, v.Node}] || taskOf(d.at[v.Node]) != taskOf(d.at[n]) {
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
