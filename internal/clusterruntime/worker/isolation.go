package worker

import (
	"context"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// maxApart is the most sessions of a worker that have their own variables or cluster.
	maxApart = 1 << 10
	// maxOpened is the most other sessions that masters opened. Beyond that, sessions without graphs are removed, the least recently used first.
	maxOpened = 1 << 16
)

// Join returns the workers of a session's own cluster, and a function that ends their use.
type Join func(*for_core_protos_go_proto.ServerDef) (Peers, func(), error)

// opened is a session that its master opened here.
type opened struct {
	resources *eager.Resources // nil: the worker's resources
	task      device.Name      // this worker's name in the session's cluster
	peers     Peers            // workers of that cluster
	leave     func()           // nil if the session uses the worker's cluster

	master      string // the task that asked for it,
	incarnation int64  // and its incarnation at that time

	used   time.Time // last
	silent time.Time // since when the master has not answered; zero: it answers, or was not asked yet
}

// apart reports whether a session has its own variables or cluster.
func (s *opened) apart() bool { return s.resources != nil || s.leave != nil }

// createSession records a session. With isolate_session_state it has its own variables, and with a cluster that cluster's names. Sessions
// that a restarted master left behind are removed.
func (w *Worker) createSession(_ context.Context, in *rpcs.CreateWorkerSessionRequest) (*rpcs.CreateWorkerSessionResponse, error) {
	if in.GetSessionHandle() == "" {
		return nil, status.Error(codes.InvalidArgument, "expected the handle of a session")
	}
	if err := checkNames(in.GetSessionHandle(), in.GetMasterTask()); err != nil {
		return nil, err
	}
	s, err := w.newSession(in)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for handle, old := range w.opened {
		if in.GetMasterTask() != "" && old.master == in.GetMasterTask() && old.incarnation != in.GetMasterIncarnation() {
			w.endSession(handle)
		}
	}
	if err := w.roomFor(in.GetSessionHandle(), s); err != nil {
		s.end()
		return nil, err
	}
	w.opened[in.GetSessionHandle()] = s
	w.watch()
	return &rpcs.CreateWorkerSessionResponse{}, nil
}

func (w *Worker) newSession(in *rpcs.CreateWorkerSessionRequest) (*opened, error) {
	s := &opened{task: w.task, peers: w.peers, master: in.GetMasterTask(), incarnation: in.GetMasterIncarnation(), used: time.Now()}
	if def := in.GetServerDef(); len(def.GetCluster().GetJob()) > 0 {
		if w.join == nil {
			return nil, status.Error(codes.Unimplemented, "sessions with a cluster of their own are not supported")
		}
		var err error
		if s.peers, s.leave, err = w.join(def); err != nil {
			return nil, err
		}
		s.task.Job, s.task.Task = def.GetJobName(), int(def.GetTaskIndex())
	}
	if in.GetIsolateSessionState() {
		s.resources = w.resources.Isolated()
	}
	return s, nil
}

// roomFor makes room for one more session. The mutex is held.
func (w *Worker) roomFor(handle string, s *opened) error {
	if w.opened[handle] != nil {
		return status.Errorf(codes.AlreadyExists, "session %s is there already", handle)
	}
	n, unused := 0, ""
	for h, other := range w.opened {
		if other.apart() == s.apart() {
			n++
			if w.sessions.of[h] == nil && (unused == "" || other.used.Before(w.opened[unused].used)) {
				unused = h
			}
		}
	}
	switch {
	case s.apart() && n >= maxApart:
		return status.Errorf(codes.ResourceExhausted, "%d sessions have isolate_session_state or a cluster of their own, which is as many as are possible: close some", maxApart)
	case n >= maxOpened && unused == "":
		return status.Errorf(codes.ResourceExhausted, "%d sessions are open, which is as many as are possible: close some", maxOpened)
	case n >= maxOpened:
		w.endSession(unused)
	}
	return nil
}

// endSession forgets a session with its graphs, steps and own state. The mutex is held.
func (w *Worker) endSession(handle string) {
	s := w.opened[handle]
	if s == nil {
		return
	}
	for h, p := range w.graphs {
		if p.session == handle {
			w.drop(h, p)
		}
	}
	for id, one := range w.steps { // steps that its master did not clean up
		if one.session == handle && one.users == 0 {
			delete(w.steps, id)
			one.end(errCleaned)
		}
	}
	delete(w.opened, handle)
	s.end()
}

// end frees a session's own state.
func (s *opened) end() {
	if s.resources != nil {
		go s.resources.Close() // it may wait for iterators
	}
	if s.leave != nil {
		s.leave()
	}
}

// known returns a session, or nil for one without its own state. It returns an error if its master opened the session and it no longer
// exists. The text and the code are TensorFlow's. The mutex is held.
func (w *Worker) known(handle string, wasOpened bool) (*opened, error) {
	s := w.opened[handle]
	if s == nil && wasOpened {
		return nil, status.Errorf(codes.Aborted, "Session handle is not found: %s. Possibly this worker (%q) just restarted.", handle, w.task.String())
	}
	if s != nil {
		s.used = time.Now()
	}
	return s, nil
}

// resourcesOf returns the variables that a session uses. The mutex is held.
func (w *Worker) resourcesOf(session string) *eager.Resources {
	if s := w.opened[session]; s != nil && s.resources != nil {
		return s.resources
	}
	return w.resources
}
