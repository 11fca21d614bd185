package master

import (
	"strings"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Join returns the workers of a session's own cluster, and a function that ends their use.
type Join func(*for_core_protos_go_proto.ServerDef) (Workers, func(), error)

// Joining lets sessions have their own clusters (ConfigProto.cluster_def), and returns the master.
func (m *Master) Joining(join Join) *Master {
	m.join = join
	return m
}

// members is the cluster of a session: from its configuration, or the server's.
type members struct {
	own     Task // the master's
	workers Workers
	leave   func()                               // nil for the server's cluster
	def     *for_core_protos_go_proto.ClusterDef // nil for the server's cluster
}

// membersOf returns the cluster for the session of a request.
func (m *Master) membersOf(in *rpcs.CreateSessionRequest) (members, error) {
	def := in.GetConfig().GetClusterDef()
	if len(def.GetJob()) == 0 {
		return members{own: m.own, workers: m.workers}, nil
	}
	if m.join == nil {
		return members{}, status.Error(codes.Unimplemented, "sessions with a cluster of their own are not supported")
	}
	own, err := m.among(def, in.GetTarget())
	if err != nil {
		return members{}, err
	}
	c := members{own: own, def: def}
	c.workers, c.leave, err = m.join(c.serverDef(own))
	return c, err
}

// among finds the master in a cluster: its task has the address that the client used. Error texts are TensorFlow's where they exist.
func (m *Master) among(def *for_core_protos_go_proto.ClusterDef, target string) (Task, error) {
	address := target[strings.LastIndex(target, "://")+len("://"):]
	if !strings.Contains(target, "://") {
		address = target
	}
	var found []Task
	for _, job := range def.GetJob() {
		for index, a := range job.GetTasks() {
			if a == address {
				found = append(found, Task{job.GetName(), int(index)})
			}
		}
	}
	switch {
	case len(found) > 1:
		return Task{}, status.Errorf(codes.InvalidArgument, "Found multiple matching tasks that correspond to to the master. Master target: '%s'. ClusterDef: %v", target, def)
	case len(found) == 0:
		return Task{}, status.Errorf(codes.InvalidArgument, "the session's cluster has no task with the address of the master, %q", address)
	case found[0] == m.own:
		return Task{}, status.Errorf(codes.InvalidArgument, "The ClusterSpec names the job and task index to be the same names that were provided when the server booted. This is currently not allowed. Job: %s, task index: %d",
			m.own.Job, m.own.Index)
	}
	return found[0], nil
}

// serverDef describes a task of the session's cluster for that task.
func (c members) serverDef(t Task) *for_core_protos_go_proto.ServerDef {
	return &for_core_protos_go_proto.ServerDef{Protocol: "grpc", JobName: t.Job, TaskIndex: int32(t.Index), Cluster: c.def}
}
