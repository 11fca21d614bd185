package worker

import (
	"github.com/goestimator/goestimator/internal/imported/eager"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// maxGraphs is the most bytes of all registered graphs.
	maxGraphs = 4 << 30
	// maxSteps is the most steps of a worker, including those that were not cleaned up.
	maxSteps = 1 << 14
	// maxWaiting is the most calls of RecvTensor that wait for a tensor.
	maxWaiting = 1 << 15
	// maxName is the longest handle of a session and name of its master in bytes, which are kept with the session. TensorFlow's are much shorter.
	maxName = 1 << 10
)

func checkNames(names ...string) error {
	for _, name := range names {
		if len(name) > maxName {
			return status.Errorf(codes.InvalidArgument, "the handle of a session, or the name of its master, has %d bytes: expected at most %d", len(name), maxName)
		}
	}
	return nil
}

// hold counts the bytes of a graph that a session will register, and returns the payer for it and its steps.
func (w *Worker) hold(session string, size int64) (eager.Payer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if size > maxGraphs-w.bytes {
		return eager.Payer{}, status.Errorf(codes.ResourceExhausted, "a graph of %d bytes: the registered graphs have %d bytes, at most %d are possible: close sessions", size, w.bytes, int64(maxGraphs))
	}
	p := w.payer(session)
	if err := p.Account.ReserveModel(int(graphCost * size)); err != nil {
		if w.sessions.of[session] == nil {
			delete(w.accounts, session)
		}
		return p, err
	}
	w.bytes += size
	return p, nil
}

// letGo undoes hold. The mutex is held.
func (w *Worker) letGo(p eager.Payer, size int64) {
	w.bytes -= size
	p.Account.ReleaseModel(int(graphCost * size))
}

// wait counts a waiting call until the result is called.
func (w *Worker) wait() (func(), error) {
	if n := w.waiting.Add(1); n > maxWaiting {
		w.waiting.Add(-1)
		return nil, status.Errorf(codes.ResourceExhausted, "%d calls of RecvTensor wait, which is as many as are possible: end steps", maxWaiting)
	}
	return func() { w.waiting.Add(-1) }, nil
}

// room makes room for one more step. If there are too many, it ends an unused one, which its master did not clean up. The mutex is held.
func (w *Worker) room() error {
	if len(w.steps) < maxSteps {
		return nil
	}
	for id, s := range w.steps {
		if s.users == 0 {
			delete(w.steps, id)
			s.end(errCleaned)
			return nil
		}
	}
	return status.Errorf(codes.ResourceExhausted, "%d steps run, which is as many as are possible: end some", maxSteps)
}
