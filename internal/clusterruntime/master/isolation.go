package master

import (
	"context"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// openWorkers opens the session at its workers where they keep something for it alone: variables and queues with
// isolate_session_state, and the names of the session's own cluster. Variables are then its own, too, unless the configuration says otherwise.
func (s *session) openWorkers(ctx context.Context, config *for_core_protos_go_proto.ConfigProto) error {
	isolated := (config.GetIsolateSessionState() || s.members.def != nil) && !config.GetExperimental().GetShareSessionStateInClusterspecPropagation()
	if !isolated && s.members.def == nil {
		return nil
	}
	s.apart = true
	var devices []*device_attributes_go_proto.DeviceAttributes
	if config.GetShareClusterDevicesInSession() || config.GetExperimental().GetShareClusterDevicesInSession() {
		devices = s.devices
	}
	for _, t := range s.tasks {
		in := &rpcs.CreateWorkerSessionRequest{SessionHandle: s.handle, IsolateSessionState: isolated, ClusterDeviceAttributes: devices,
			MasterTask: fmt.Sprintf("/job:%s/replica:0/task:%d", s.own.Job, s.own.Index), MasterIncarnation: int64(s.cluster.Client.Incarnation)}
		if s.members.def != nil {
			in.ServerDef = s.serverDef(t)
		}
		w, err := s.workers.Worker(t.Job, t.Index)
		if err == nil {
			_, err = service.Ask[rpcs.CreateWorkerSessionResponse](ctx, w, "CreateWorkerSession", in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// closeWorkers ends what openWorkers began. A worker that does not answer is left alone after a while.
func (s *session) closeWorkers() {
	if s.apart {
		ctx, cancel := afterwards()
		defer cancel()
		var done sync.WaitGroup
		for _, t := range s.tasks {
			if w, err := s.workers.Worker(t.Job, t.Index); err == nil {
				done.Go(func() {
					_, _ = service.Ask[rpcs.DeleteWorkerSessionResponse](ctx, w, "DeleteWorkerSession", &rpcs.DeleteWorkerSessionRequest{SessionHandle: s.handle})
				})
			}
		}
		done.Wait()
	}
	if s.leave != nil {
		s.leave()
	}
}
