package worker

import "github.com/goestimator/goestimator/internal/clusterruntime/status"

// Describe fills in the worker's state.
func (w *Worker) Describe(s *status.State) {
	w.mu.Lock()
	s.Graphs = status.Graphs{Count: len(w.graphs), Bytes: w.bytes}
	w.mu.Unlock()
	for _, v := range w.resources.Variables() {
		one := status.Variable{Container: v.Container, Name: v.Name, Shape: v.Shape, Bytes: v.Bytes}
		if v.DType != 0 {
			one.Type = v.DType.String()
		}
		s.Variables = append(s.Variables, one)
	}
	for _, q := range w.resources.Queues() {
		s.Queues = append(s.Queues, status.Queue{Name: q.Name, Size: q.Size, Capacity: q.Capacity, Closed: q.Closed})
	}
}
