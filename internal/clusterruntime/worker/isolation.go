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
	// maxApart are the sessions of a worker that have variables or a cluster of their own.
	maxApart = 1 << 10
	// maxOpened are the other sessions that masters opened. Beyond, sessions without graphs go, the one that was used the longest ago first.
	maxOpened = 1 << 16
)

// Join returns the workers of a session's own cluster, and what ends the use of them.
type Join func(*for_core_protos_go_proto.ServerDef) (Peers, func(), error)

// opened is a session that its master opened here.
type opened struct {
	resources *eager.Resources // nil: the worker's
	task      device.Name      // the worker's, in the cluster of the session
	peers     Peers            // of that cluster
	leave     func()           // nil where the cluster is that of the worker

	master      string // the task that asked for it,
	incarnation int64  // before it was started again

	used   time.Time // last
	silent time.Time // since when the master does not answer; zero: it does, or was not asked yet
}

// apart reports whether a session has something of its own.
func (s *opened) apart() bool { return s.resources != nil || s.leave != nil }

// createSession notes a session. With isolate_session_state it has variables of its own, and with a cluster the names of that
// cluster. What a master left behind that was started again since goes.
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

// roomFor sees that there is room for one more session. The mutex is held.
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

// endSession forgets a session with its graphs and steps, and what it alone has. The mutex is held.
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
	for id, one := range w.steps { // that its master did not clean up
		if one.session == handle && one.users == 0 {
			delete(w.steps, id)
			one.end(errCleaned)
		}
	}
	delete(w.opened, handle)
	s.end()
}

// end frees what a session alone has.
func (s *opened) end() {
	if s.resources != nil {
		go s.resources.Close() // it may wait for what iterators do
	}
	if s.leave != nil {
		s.leave()
	}
}

// known returns a session, nil for one that has nothing of its own. It fails for one that its master opened and that is
// not there any more. The text and the code are TensorFlow's. The mutex is held.
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
