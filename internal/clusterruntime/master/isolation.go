package master

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// openWorkers opens the session at its workers, as TensorFlow's masters do. They learn its owner, and keep state for it alone if
// the configuration asks for it: variables and queues with isolate_session_state, and the names of the session's own cluster. With
// its own cluster a session also has its own variables, unless the configuration says otherwise.
func (s *session) openWorkers(ctx context.Context, config *for_core_protos_go_proto.ConfigProto) error {
	isolated := (config.GetIsolateSessionState() || s.members.def != nil) && !config.GetExperimental().GetShareSessionStateInClusterspecPropagation()
	s.created = true
	var devices []*device_attributes_go_proto.DeviceAttributes
	if config.GetShareClusterDevicesInSession() || config.GetExperimental().GetShareClusterDevicesInSession() {
		devices = s.devices
	}
	return s.eachTask(func(t Task, w service.Caller) error {
		in := &rpcs.CreateWorkerSessionRequest{SessionHandle: s.handle, IsolateSessionState: isolated, ClusterDeviceAttributes: devices,
			MasterTask: fmt.Sprintf("/job:%s/replica:0/task:%d", s.own.Job, s.own.Index), MasterIncarnation: int64(s.cluster.Client.Incarnation)}
		if s.members.def != nil {
			in.ServerDef = s.serverDef(t)
		}
		_, err := service.Ask[rpcs.CreateWorkerSessionResponse](ctx, w, "CreateWorkerSession", in)
		return err
	})
}

// eachTask calls do for all workers of the session at the same time, and returns the error of the first task that has one.
func (s *session) eachTask(do func(t Task, w service.Caller) error) error {
	errs := make([]error, len(s.tasks))
	var done sync.WaitGroup
	for i, t := range s.tasks {
		done.Go(func() {
			w, err := s.workers.Worker(t.Job, t.Index)
			if err == nil {
				err = do(t, w)
			}
			errs[i] = err
		})
	}
	done.Wait()
	return cmp.Or(errs...)
}

// closeWorkers undoes openWorkers. A worker that does not answer is left alone after a while.
func (s *session) closeWorkers() {
	if s.created {
		ctx, cancel := afterwards()
		defer cancel()
		_ = s.eachTask(func(_ Task, w service.Caller) error {
			_, err := service.Ask[rpcs.DeleteWorkerSessionResponse](ctx, w, "DeleteWorkerSession", &rpcs.DeleteWorkerSessionRequest{SessionHandle: s.handle})
			return err
		}) // a worker that is gone has forgotten it anyway
	}
	if s.leave != nil {
		s.leave()
	}
}
