package partition

import "github.com/goestimator/goestimator/internal/compiler/graph"

// early reports whether a cut value always comes from a variable or constant alone: its receiver waits for no part of the step, and it
// is never dead.
func (d *divider) early(c cut) bool {
	if c.index < 0 || reference(c) || d.frames.gives[c.from] != nil {
		return false
	}
	const most = 64 // nodes that pass on a value; a graph may have cycles
	n, at := c.from, taskOf(d.at[c.from])
	for range most {
		if len(n.Control) > 0 || taskOf(d.at[n]) != at {
			return false
		}
		switch n.Op {
		case "Const", "VarHandleOp", "VariableV2", "Variable":
			return true
		case "Identity", "ReadVariableOp":
			if d.fedBy(n) {
				return false
			}
			n = n.Inputs[0].Node
		default:
			return false
		}
	}
	return false
}

// fedBy reports whether the client feeds the input of a node, or its output.
func (d *divider) fedBy(n *graph.Node) bool {
	return len(n.Inputs) != 1 || d.isFed(n.Inputs[0]) || d.isFed(n.Out(0))
}

// isFed reports whether the client feeds an output.
func (d *divider) isFed(o graph.Output) bool {
	_, fed := d.need.feeds[o]
	return fed
}
