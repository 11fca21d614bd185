package distribute

import (
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// sums holds the sums over the replicas of a step.
type sums struct {
	dense  []*tensor.Tensor // in the order of layout.dense: gradients, updates, loss
	stay   int              // how many of the first in dense stay on the workers' GPUs
	sparse []*gatheredRows  // in the order of layout.sparse
	votes  *tensor.Tensor   // float64: see the vote constants; then the seconds of each task's steps
	rows   int              // of the batches in sparse
	tasks  int

	unit    float64   // rows that count as one replica; 0: replicas count equally
	weights []float64 // of this task's replicas in the current step
}

// The elements of votes: the number of replicas with data, by weight, and what tasks ask for.
const (
	voteReplicas = iota
	voteFinished
	voteInterrupted
	voteRegroup
	voteCount
)

// newSums returns room for the sums of that many tasks. The votes have another length for each function of
// a program, so that tasks that run different functions notice it.
func newSums(l *layout, tasks, function int) *sums {
	s := &sums{votes: tensor.New(tensor.Float64, voteCount+tasks+function), tasks: tasks}
	for _, t := range l.types() {
		s.dense = append(s.dense, tensor.New(t.DType, t.Shape.At(0)...))
	}
	for _, p := range l.sparse {
		s.sparse = append(s.sparse, newGatheredRows(l.fetches[p.rows].Type(), l.fetches[p.ids].Type()))
	}
	return s
}

// begin starts a step with this task's votes.
func (s *sums) begin(step Step) {
	for i := range s.sparse {
		s.sparse[i].reset()
	}
	s.rows = 0
	v := tensor.Values[float64](s.votes)
	clear(v)
	v[voteReplicas] = s.weigh(step.Batches)
	switch step.Stop {
	case Leaving:
		v[voteRegroup] = 1
	case Finished:
		v[voteFinished] = 1
	case Interrupted:
		v[voteInterrupted] = 1
	}
	if len(step.Batches) == 0 {
		for _, t := range s.dense {
			clear(t.Bytes)
		}
	}
}

// weigh sets the weights of this task's replicas and returns their sum. Means that stay on GPUs count replicas equally.
func (s *sums) weigh(batches []Batch) (sum float64) {
	s.weights = s.weights[:0]
	for _, b := range batches {
		weight := 1.0
		if s.unit > 0 && s.stay == 0 {
			weight = float64(b.Rows) / s.unit
		}
		s.weights, sum = append(s.weights, weight), sum+weight
	}
	return sum
}

// secs returns the seconds of each task's steps by rank.
func (s *sums) secs() []float64 {
	return tensor.Values[float64](s.votes)[voteCount : voteCount+s.tasks]
}

// replicas returns the number of replicas in the sums, by weight.
func (s *sums) replicas() float64 { return tensor.Values[float64](s.votes)[voteReplicas] }

// ask asks for a regrouping after this step.
func (s *sums) ask() { tensor.Values[float64](s.votes)[voteRegroup] = 1 }

// regroups reports whether a task asked for a regrouping.
func (s *sums) regroups() bool { return tensor.Values[float64](s.votes)[voteRegroup] > 0 }

// discard makes the step count as one without data.
func (s *sums) discard() { tensor.Values[float64](s.votes)[voteReplicas] = 0 }

// stop returns what the tasks decided.
func (s *sums) stop() Stop {
	switch v := tensor.Values[float64](s.votes); {
	case v[voteInterrupted] > 0:
		return Interrupted
	case v[voteFinished] > 0:
		return Finished
	}
	return GoOn
}

// set takes dense result i of the first replica.
func (s *sums) set(i int, t *tensor.Tensor) {
	copy(s.dense[i].Bytes, t.Bytes)
	multiply(s.dense[i], s.weights[0])
}

// add adds the dense results of another replica of this task.
func (s *sums) add(r *replica, replica int) {
	for i, t := range s.dense {
		addInto(t, r.dense(i), s.weights[replica])
	}
}

// join appends the sparse results of a replica of this task.
func (s *sums) join(r *replica, replica, rows int) error {
	s.rows += rows
	for i, j := range s.sparse {
		values, ids := r.sparse(i)
		before := len(j.rows.Bytes)
		if err := j.add(values.Bytes, ids.Bytes); err != nil {
			return err
		}
		multiply(&tensor.Tensor{DType: j.rows.DType, Bytes: j.rows.Bytes[before:]}, s.weights[replica])
	}
	return nil
}

// mean divides sums by the number of replicas in them.
func (s *sums) mean() {
	n := s.replicas()
	for _, t := range s.dense {
		divide(t, n)
	}
	for _, j := range s.sparse {
		divide(j.rows, n)
	}
}

// loss returns the loss, the last dense result.
func (s *sums) loss() *tensor.Tensor { return s.dense[len(s.dense)-1] }

// batch returns the number of rows of a batch into which all sparse results fit: the rows
// of the replicas' batches, or more if other tasks have more ids per row.
func (s *sums) batch() int {
	rows := max(s.rows, 1)
	for _, j := range s.sparse {
		rows = max(rows, j.batch())
	}
	return rows
}

// feeds returns the feeds of an application for a batch of that many rows.
func (s *sums) feeds(dst []*tensor.Tensor, rows int) []*tensor.Tensor {
	dst = append(dst[:0], s.dense[:len(s.dense)-1]...)
	for _, j := range s.sparse {
		j.fill(rows)
		dst = append(dst, j.rows, j.ids)
	}
	return dst
}

// addInto adds n times src to dst, floats of the same type and shape.
func addInto(dst, src *tensor.Tensor, n float64) {
	if dst.DType == tensor.Float64 {
		kernels.Axpy(n, tensor.Values[float64](src), tensor.Values[float64](dst))
		return
	}
	kernels.Axpy(float32(n), tensor.Values[float32](src), tensor.Values[float32](dst))
}

// multiply multiplies floats by n.
func multiply(t *tensor.Tensor, n float64) {
	if n == 1 {
		return
	}
	if t.DType == tensor.Float64 {
		x := tensor.Values[float64](t)
		kernels.BinaryScalar(kernels.Mul, x, x, n)
		return
	}
	x := tensor.Values[float32](t)
	kernels.BinaryScalar(kernels.Mul, x, x, float32(n))
}

// divide divides floats by n.
func divide(t *tensor.Tensor, n float64) {
	if n == 1 {
		return
	}
	if t.DType == tensor.Float64 {
		x := tensor.Values[float64](t)
		kernels.BinaryScalar(kernels.Div, x, x, n)
		return
	}
	x := tensor.Values[float32](t)
	kernels.BinaryScalar(kernels.Div, x, x, float32(n))
}
