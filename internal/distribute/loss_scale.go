package distribute

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/tensor"
)

// lossScale is a loss scale that changes, for variables that are updated separately. A
// worker decides whether to push its gradients, and pushes the scale. If workers push at
// the same time, the last scale wins.
type lossScale struct {
	flag  graph.Output // bool: the gradients are finite
	next  []update.Next
	first int // fetch of the flag; the fetches of next follow
}

// unscale removes the loss scale from a program's gradients and update.
func unscale(t TrainProgram) (TrainProgram, *lossScale, error) {
	if t.Train.Step != nil {
		return t, nil, nil
	}
	u, err := update.Unscale(t.Train, graph.NewBuilder(t.Graph), t.Gradients)
	if err != nil {
		return t, nil, err
	}
	t.Train, t.Gradients = u.Train, u.Gradients
	if !u.Finite.Valid() {
		return t, nil, nil
	}
	return t, &lossScale{flag: u.Finite, next: u.State}, nil
}

// fetch adds what each step needs to a layout. A nil receiver needs nothing.
func (s *lossScale) fetch(l *layout) {
	if s == nil {
		return
	}
	s.first = l.fetch(s.flag)
	for _, n := range s.next {
		l.fetch(n.Value)
	}
}

// finite reports whether to push the gradients of a step; value returns a fetch.
func (s *lossScale) finite(value func(int) *tensor.Tensor) bool {
	return s == nil || tensor.Values[bool](value(s.first))[0]
}

// assign appends a step's changes of the scale.
func (s *lossScale) assign(to []ps.Assignment, value func(int) *tensor.Tensor) []ps.Assignment {
	if s == nil {
		return to
	}
	for i, n := range s.next {
		to = append(to, ps.Assignment{Variable: n.Variable, Value: value(s.first + 1 + i)})
	}
	return to
}
