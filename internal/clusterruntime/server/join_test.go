package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/master"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// swapped is a cluster of the rig's servers in which the parameter servers have each other's names, and the worker another one.
func (r *rig) swapped() *for_core_protos_go_proto.ClusterDef {
	worker, _ := r.spec.Address("worker", 0)
	ps := r.spec.Addresses("ps")
	return &for_core_protos_go_proto.ClusterDef{Job: []*for_core_protos_go_proto.JobDef{
		{Name: "boss", Tasks: map[int32]string{3: worker}}, {Name: "ps", Tasks: map[int32]string{0: ps[1], 1: ps[0]}},
	}}
}

// openIn opens a session with the counter in a cluster. The product is computed on a ps, which receives a factor from the other one.
func (r *rig) openIn(def *for_core_protos_go_proto.ClusterDef, share bool) (string, error) {
	target, _ := r.spec.Address("worker", 0)
	config := &for_core_protos_go_proto.ConfigProto{ClusterDef: def, Experimental: &for_core_protos_go_proto.ConfigProto_Experimental{ShareSessionStateInClusterspecPropagation: share}}
	g := counter(r.t)
	for _, n := range g.GetNode() {
		if n.GetName() == "y" {
			n.Device = "/job:ps/task:0"
		}
	}
	out, err := ask[rpcs.CreateSessionResponse](r, "CreateSession", &rpcs.CreateSessionRequest{GraphDef: g, Config: config, Target: "grpc://" + target})
	return out.GetSessionHandle(), err
}

// TestClusterOfSession: a session runs in the cluster of its configuration, with that cluster's names and variables.
func TestClusterOfSession(t *testing.T) {
	r := newRig(t)
	var sessions []string
	for _, share := range []bool{false, false, true} {
		s, err := r.openIn(r.swapped(), share)
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, s)
	}
	for i, s := range sessions { // each has its own variables
		if _, err := r.step(s, 2); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("session %d: expected no variables, got %v", i, err)
		}
		r.init(s)
		if y, err := r.step(s, 2); err != nil || y != 4 {
			t.Errorf("session %d: got %v, %v", i, y, err)
		}
	}
	for i, want := range []float64{16, 16, 16} {
		if y, err := r.step(sessions[i], 2); err != nil || y != want {
			t.Errorf("session %d: got %v, %v, expected %v", i, y, err, want)
		}
	}
	again, err := r.openIn(r.swapped(), true) // uses the shared ones
	if err != nil {
		t.Fatal(err)
	}
	if y, err := r.step(again, 2); err != nil || y != 36 {
		t.Errorf("shared variables: got %v, %v", y, err)
	}
	sessions = append(sessions, again)
	devices, err := ask[rpcs.ListDevicesResponse](r, "ListDevices", &rpcs.ListDevicesRequest{SessionHandle: sessions[0]})
	if err != nil || len(devices.GetLocalDevice()) != 1 || devices.GetLocalDevice()[0].GetName() != "/job:boss/replica:0/task:3/device:CPU:0" || len(devices.GetRemoteDevice()) != 2 {
		t.Errorf("devices: %v, %v", devices, err)
	}
	for _, s := range sessions {
		if _, err := ask[rpcs.CloseSessionResponse](r, "CloseSession", &rpcs.CloseSessionRequest{SessionHandle: s}); err != nil {
			t.Error(err)
		}
	}
	for task, s := range r.servers {
		if len(s.peers.shared.all) != len(s.peers.conns) {
			t.Errorf("%s keeps %d connections, its own cluster uses %d", task, len(s.peers.shared.all), len(s.peers.conns))
		}
	}
}

// TestMasterStartedAgain: a master's sessions at a worker are removed when a restarted master with that name arrives.
func TestMasterStartedAgain(t *testing.T) {
	r := newRig(t)
	old, err := r.openIn(r.swapped(), false)
	if err != nil {
		t.Fatal(err)
	}
	again := &rpcs.CreateWorkerSessionRequest{SessionHandle: "new", MasterTask: "/job:boss/replica:0/task:3", MasterIncarnation: 1}
	ps, err := r.servers["worker0"].peers.Worker("ps", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ps.Call(t.Context(), "CreateWorkerSession", again, &rpcs.CreateWorkerSessionResponse{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.step(old, 1); status.Code(err) != codes.Aborted || !strings.Contains(err.Error(), "Session handle is not found") {
		t.Errorf("got %v", err)
	}
}

// TestClustersRefused: errors in a session's cluster are reported.
func TestClustersRefused(t *testing.T) {
	r := newRig(t)
	worker, _ := r.spec.Address("worker", 0)
	cluster := func(job string, tasks map[int32]string) *for_core_protos_go_proto.ClusterDef {
		return &for_core_protos_go_proto.ClusterDef{Job: []*for_core_protos_go_proto.JobDef{{Name: job, Tasks: tasks}}}
	}
	many := map[int32]string{0: worker}
	for i := range int32(maxTasks) {
		many[i+1] = "other"
	}
	for text, one := range map[string]struct {
		def  *for_core_protos_go_proto.ClusterDef
		code codes.Code
	}{
		"no task with the address of the master": {cluster("a", map[int32]string{0: "other:1"}), codes.InvalidArgument},
		"Found multiple matching tasks":          {cluster("a", map[int32]string{0: worker, 1: worker}), codes.InvalidArgument},
		"same names that were provided":          {cluster("worker", map[int32]string{0: worker}), codes.InvalidArgument},
		"expected letters":                       {cluster("a/b", map[int32]string{0: worker}), codes.InvalidArgument},
		"expected host:port":                     {cluster("a", map[int32]string{0: worker, 1: ""}), codes.InvalidArgument},
		"more than 16384 tasks":                  {cluster("a", many), codes.ResourceExhausted},
		"bytes, more than 1048576":               {cluster("a", map[int32]string{0: worker, 1: strings.Repeat("x", maxCluster)}), codes.ResourceExhausted},
	} {
		if _, err := r.openIn(one.def, false); status.Code(err) != one.code || !strings.Contains(err.Error(), text) {
			t.Errorf("expected %v with %q, got %v", one.code, text, err)
		}
	}
}

// TestForeignAddresses: their number is bounded, and with a token there are none.
func TestForeignAddresses(t *testing.T) {
	r := newRig(t)
	p := r.servers["worker0"].peers
	worker, _ := r.spec.Address("worker", 0)
	tasks := map[int32]string{0: worker}
	for i := range int32(maxForeign + 1) {
		tasks[i+1] = fmt.Sprintf("localhost:%d", i+1)
	}
	def := &for_core_protos_go_proto.ServerDef{JobName: "a", Cluster: &for_core_protos_go_proto.ClusterDef{Job: []*for_core_protos_go_proto.JobDef{{Name: "a", Tasks: tasks}}}}
	q, err := p.join(def)
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxForeign + 1 {
		if _, err := q.Worker("a", i+1); (status.Code(err) == codes.ResourceExhausted) != (i == maxForeign) {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	q.leave()
	if p.shared.foreign != 0 {
		t.Errorf("%d connections are left", p.shared.foreign)
	}
	closed := newPeers(Config{Cluster: r.spec, Job: "worker", Security: Security{Token: "secret"}})
	if _, err := closed.join(def); status.Code(err) != codes.PermissionDenied {
		t.Errorf("with a token: got %v", err)
	}
	def.Cluster = r.swapped()
	def.JobName, def.TaskIndex = "boss", 3
	if _, err := closed.join(def); err != nil {
		t.Errorf("addresses of the own cluster: got %v", err)
	}
	if own := closed.own; own != (master.Task{Job: "worker"}) {
		t.Errorf("the own task is %v", own)
	}
}
