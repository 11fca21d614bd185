package distribute

import "github.com/goestimator/goestimator/tensor"

// A Planner is a strategy that gets all training programs before the first is prepared,
// because tasks compare them, or because other tasks apply their updates. Train plans for
// the one program of a strategy that did not get any.
type Planner interface {
	// Plan takes the programs in an order that is the same in all tasks. It is called once.
	Plan(programs ...TrainProgram) error
}

// replicaValues is a Stepper that has results of several local replicas.
type replicaValues interface {
	replicaValue(replica, i int) *tensor.Tensor
}

// ReplicaValue returns fetch i of a local replica after a step to which it brought a
// batch, valid until the next.
func ReplicaValue(s Stepper, replica, i int) *tensor.Tensor {
	if r, ok := s.(replicaValues); ok {
		return r.replicaValue(replica, i)
	}
	return s.Value(i)
}
