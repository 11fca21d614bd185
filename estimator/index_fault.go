package estimator

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

var errIndex = errors.New("the input has an id out of range")

// outOfRange looks for an index that a node refused, in the columns of integers that the node reads.
func (s *session) outOfRange(node string, e *engine.IndexError) *valueCheck {
	n := s.program.graph.Node(node)
	if n == nil {
		return nil
	}
	var columns []int
	for _, in := range n.Inputs {
		for i, f := range s.program.feeds {
			if f.output == unchanged(in) {
				columns = append(columns, s.feeds[i].column)
			}
		}
	}
	return &valueCheck{columns, errIndex, func(t *tensor.Tensor) int { return indexOf(t, e.Index) },
		fmt.Errorf("expected 0 <= id < %d (%s): correct it, leave such rows out, or set a larger size (vocabulary of a network of texts)", e.Size, node)}
}

// unchanged follows a value back through the ops that keep its elements.
func unchanged(x graph.Output) graph.Output {
	for slices.Contains([]string{"Cast", "Reshape", "ExpandDims", "Squeeze", "Identity"}, x.Node.Op) {
		x = x.Node.Inputs[0]
	}
	return x
}

// indexOf returns the first element of a tensor of whole numbers that equals v, -1 for none.
func indexOf(t *tensor.Tensor, v int) int {
	if t.DType == tensor.String || t.DType.Float() {
		return -1
	}
	for i := range t.Len() {
		if t.Float(i) == float64(v) {
			return i
		}
	}
	return -1
}
