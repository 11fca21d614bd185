package worker

import (
	"context"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxIsolated are the sessions of a worker that have variables of their own.
const maxIsolated = 1 << 10

// isolated is what a session has that shares nothing with others.
type isolated struct {
	resources   *eager.Resources
	master      string // the task that asked for it,
	incarnation int64  // before it was started again
}

// createSession does nothing for most sessions: they share variables. A session with isolate_session_state gets its own.
// What a master left behind that was started again since goes.
func (w *Worker) createSession(_ context.Context, in *rpcs.CreateWorkerSessionRequest) (*rpcs.CreateWorkerSessionResponse, error) {
	if !in.GetIsolateSessionState() {
		return &rpcs.CreateWorkerSessionResponse{}, nil
	}
	if in.GetSessionHandle() == "" {
		return nil, status.Error(codes.InvalidArgument, "isolate_session_state: expected the handle of a session")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for handle, s := range w.isolated {
		if in.GetMasterTask() != "" && s.master == in.GetMasterTask() && s.incarnation != in.GetMasterIncarnation() {
			w.endIsolated(handle)
		}
	}
	if len(w.isolated) >= maxIsolated {
		return nil, status.Errorf(codes.ResourceExhausted, "%d sessions have isolate_session_state, which is as many as are possible: close some", maxIsolated)
	}
	if w.isolated[in.GetSessionHandle()] != nil {
		return nil, status.Errorf(codes.AlreadyExists, "session %s is there already", in.GetSessionHandle())
	}
	w.isolated[in.GetSessionHandle()] = &isolated{w.resources.Isolated(), in.GetMasterTask(), in.GetMasterIncarnation()}
	return &rpcs.CreateWorkerSessionResponse{}, nil
}

// endIsolated forgets what a session alone has. The mutex is held.
func (w *Worker) endIsolated(handle string) {
	if s := w.isolated[handle]; s != nil {
		delete(w.isolated, handle)
		go s.resources.Close() // it may wait for what iterators do
	}
}

// resourcesOf returns the variables that a session uses.
func (w *Worker) resourcesOf(session string) *eager.Resources {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.isolated[session]; s != nil {
		return s.resources
	}
	return w.resources
}
