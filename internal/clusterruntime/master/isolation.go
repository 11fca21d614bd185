package master

import (
	"context"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
)

// isolate asks the workers of the session's devices to keep variables and queues of its own for it: isolate_session_state.
// Where it fails, close ends what it began.
func (s *session) isolate(ctx context.Context) error {
	s.isolated = true
	for _, t := range s.tasks {
		w, err := s.master.workers.Worker(t.Job, t.Index)
		if err == nil {
			_, err = service.Ask[rpcs.CreateWorkerSessionResponse](ctx, w, "CreateWorkerSession", &rpcs.CreateWorkerSessionRequest{SessionHandle: s.handle, IsolateSessionState: true,
				MasterTask: fmt.Sprintf("/job:%s/replica:0/task:%d", s.master.own.Job, s.master.own.Index), MasterIncarnation: int64(s.cluster.Client.Incarnation)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetIsolated ends what isolate began. A worker that does not answer is left alone after a while.
func (s *session) forgetIsolated() {
	if !s.isolated {
		return
	}
	ctx, cancel := afterwards()
	defer cancel()
	var done sync.WaitGroup
	for _, t := range s.tasks {
		if w, err := s.master.workers.Worker(t.Job, t.Index); err == nil {
			done.Go(func() {
				_, _ = service.Ask[rpcs.DeleteWorkerSessionResponse](ctx, w, "DeleteWorkerSession", &rpcs.DeleteWorkerSessionRequest{SessionHandle: s.handle})
			})
		}
	}
	done.Wait()
}
