package graph

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// ErrCycle is returned by Sort for a graph whose nodes depend on each other in a circle.
var ErrCycle = errors.New("graph has a cycle")

// loopOps close the cycles that TensorFlow's v1 while loops make.
var loopOps = map[string]bool{"NextIteration": true, "RefNextIteration": true}

// Sort returns the nodes so that each comes after its inputs and control
// inputs, otherwise in the graph's order. The back edges of v1 while loops
// (out of NextIteration) do not count. It fails with ErrCycle, naming the nodes of one cycle.
func Sort(g *Graph) ([]*Node, error) {
	const visiting, done = 1, 2
	state := make(map[*Node]int, len(g.nodes))
	sorted := make([]*Node, 0, len(g.nodes))
	type frame struct {
		n    *Node
		next int
	}
	for _, root := range g.nodes {
		stack := []frame{{n: root}}
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if f.next == 0 {
				if state[f.n] == done {
					stack = stack[:len(stack)-1]
					continue
				}
				state[f.n] = visiting
			}
			need := nth(f.n, f.next)
			f.next++
			switch {
			case need == nil && f.next > len(f.n.Inputs)+len(f.n.Control):
				state[f.n] = done
				sorted = append(sorted, f.n)
				stack = stack[:len(stack)-1]
			case need == nil || loopOps[need.Op] || state[need] == done:
			case state[need] == visiting:
				var names []string
				for _, s := range stack {
					names = append(names, s.n.Name)
				}
				return nil, fmt.Errorf("%w: %s -> %s", ErrCycle, strings.Join(names, " -> "), need.Name)
			default:
				stack = append(stack, frame{n: need})
			}
		}
	}
	return sorted, nil
}

// nth returns input i of n, control inputs following, nil past the end.
func nth(n *Node, i int) *Node {
	switch {
	case i < len(n.Inputs):
		return n.Inputs[i].Node
	case i < len(n.Inputs)+len(n.Control):
		return n.Control[i-len(n.Inputs)]
	}
	return nil
}

// Validate checks that every edge leads to an output of a node of g, that cycles
// only go through NextIteration, that attributes for element types (dtype, T,
// DstT, ...) agree with the outputs, and that constants have a value of their
// output's type. It returns all violations, joined by errors.Join.
func Validate(g *Graph) error {
	var errs []error
	mine := make(map[*Node]bool, len(g.nodes))
	for _, n := range g.nodes {
		mine[n] = true
	}
	for _, n := range g.nodes {
		for i, in := range n.Inputs {
			if in.Node == nil || !mine[in.Node] || in.Index < 0 || in.Index >= len(in.Node.Outputs) {
				errs = append(errs, fmt.Errorf("node %s (%s): input %d is %v, which this graph lacks", n.Name, n.Op, i, in))
			}
		}
		for _, c := range n.Control {
			if !mine[c] {
				errs = append(errs, fmt.Errorf("node %s (%s): a control input is not in this graph", n.Name, n.Op))
			}
		}
		if err := n.checkTypes(); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		if _, err := Sort(g); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (n *Node) checkTypes() error {
	def := ops.Find(n.Op)
	for i, out := range n.Outputs {
		if def == nil {
			break
		}
		attr := def.OutputAt(i, len(n.Outputs)).TypeAttr
		if d, ok := n.Attrs[attr].(tensor.DType); ok && d != out.DType {
			return fmt.Errorf("node %s (%s): attribute %s is %v, output %d is %v", n.Name, n.Op, attr, d, i, out.DType)
		}
	}
	if n.Op != "Const" {
		return nil
	}
	t, ok := n.Attrs["value"].(*tensor.Tensor)
	if !ok {
		return fmt.Errorf("node %s: a Const without a value", n.Name)
	}
	if len(n.Outputs) != 1 || n.Outputs[0].DType != t.DType {
		return fmt.Errorf("node %s: a Const of %v whose output is %v", n.Name, t.DType, n.Outputs)
	}
	return nil
}
