package server

import (
	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/master"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Limits on a cluster that a client names, which is kept with its session.
const (
	maxTasks   = 1 << 14
	maxCluster = 1 << 20 // bytes of its description
)

// join returns the peers in a session's own cluster, in which the server may have another name.
func (p *peers) join(def *for_core_protos_go_proto.ServerDef) (*peers, error) {
	own, addresses := master.Task{Job: def.GetJobName(), Index: int(def.GetTaskIndex())}, map[master.Task]string{}
	if n := proto.Size(def.GetCluster()); n > maxCluster {
		return nil, status.Errorf(codes.ResourceExhausted, "the session's cluster has %d bytes, more than %d", n, maxCluster)
	}
	for _, job := range def.GetCluster().GetJob() {
		if name, err := device.Parse("/job:" + job.GetName()); err != nil || name.Job == "" {
			return nil, status.Errorf(codes.InvalidArgument, "the session's cluster: job %q: expected letters, digits and underscores", job.GetName())
		}
		if len(addresses)+len(job.GetTasks()) > maxTasks {
			return nil, status.Errorf(codes.ResourceExhausted, "the session's cluster has more than %d tasks", maxTasks)
		}
		for index, address := range job.GetTasks() {
			t := master.Task{Job: job.GetName(), Index: int(index)}
			switch _, twice := addresses[t]; {
			case index < 0 || address == "":
				return nil, status.Errorf(codes.InvalidArgument, "the session's cluster: task %d of job %q has the address %q: expected host:port", index, t.Job, address)
			case twice:
				return nil, status.Errorf(codes.InvalidArgument, "the session's cluster has %v twice", t)
			case p.closed && t != own && !p.shared.own[address]:
				return nil, status.Errorf(codes.PermissionDenied, "the session's cluster: %v has the address %q, which is none of this server's cluster: with a job token others are not called", t, address)
			}
			addresses[t] = address
		}
	}
	if _, ok := addresses[own]; !ok {
		return nil, status.Errorf(codes.InvalidArgument, "the session's cluster: %v, which is this server, is not in it", own)
	}
	return p.of(own, addresses), nil
}

// forMaster implements master.Join.
func (p *peers) forMaster(def *for_core_protos_go_proto.ServerDef) (master.Workers, func(), error) {
	q, err := p.join(def)
	if err != nil {
		return nil, nil, err
	}
	return q, q.leave, nil
}

// forWorker implements worker.Join.
func (p *peers) forWorker(def *for_core_protos_go_proto.ServerDef) (worker.Peers, func(), error) {
	q, err := p.join(def)
	if err != nil {
		return nil, nil, err
	}
	return q, q.leave, nil
}

func (p *peers) leave() { _ = p.close() } // the connections are unused: an error does not matter
