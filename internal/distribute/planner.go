package distribute

import "github.com/goestimator/goestimator/tensor"

// A Planner is a strategy that gets all training programs before the first one is
// prepared, because tasks compare them, or because other tasks apply their updates. If Plan
// was not called, Train plans for its program alone.
type Planner interface {
	// Plan takes the programs, in the same order in all tasks. It is called once.
	Plan(programs ...TrainProgram) error
}

// replicaValues is a Stepper with the results of several local replicas.
type replicaValues interface {
	replicaValue(replica, i int) *tensor.Tensor
}

// ReplicaValue returns fetch i of a local replica that had a batch in the last step. It is
// valid until the next step.
func ReplicaValue(s Stepper, replica, i int) *tensor.Tensor {
	if r, ok := s.(replicaValues); ok {
		return r.replicaValue(replica, i)
	}
	return s.Value(i)
}
