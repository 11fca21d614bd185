package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// TestTracedStep: if the client asks for it, a step reports what each node did on which task.
func TestTracedStep(t *testing.T) {
	r := newRig(t)
	session := r.open()
	r.init(session)
	run := func(o *for_core_protos_go_proto.RunOptions) *for_core_protos_go_proto.RunMetadata {
		out, err := ask[rpcs.RunStepResponse](r, "RunStep", &rpcs.RunStepRequest{SessionHandle: session, Fetch: []string{"y:0"}, Options: o,
			Feed: []*for_core_protos_go_proto.NamedTensorProto{{Name: "x:0", Tensor: number(t, 1)}}})
		if err != nil {
			t.Fatal(err)
		}
		return out.GetMetadata()
	}
	for range 3 { // then numeric nodes run as programs
		if m := run(nil); m.GetStepStats() != nil || len(m.GetPartitionGraphs()) != 0 {
			t.Errorf("nobody asked, got %v", m)
		}
	}
	m := run(&for_core_protos_go_proto.RunOptions{TraceLevel: for_core_protos_go_proto.RunOptions_FULL_TRACE, OutputPartitionGraphs: true})
	if n := len(m.GetPartitionGraphs()); n != 3 {
		t.Errorf("expected the graphs of 3 tasks, got %d", n)
	}
	var nodes []string
	for _, d := range m.GetStepStats().GetDevStats() {
		for _, n := range d.GetNodeStats() {
			nodes = append(nodes, d.GetDevice()+" "+n.GetNodeName())
			if n.GetAllStartMicros() == 0 || n.GetAllEndRelNanos() < 0 || !strings.HasPrefix(n.GetTimelineLabel(), n.GetNodeName()+" = ") {
				t.Errorf("got %v", n)
			}
			if n.GetNodeName() == "y" {
				if d := n.GetOutput()[0].GetTensorDescription(); d.GetDtype() != 1 || d.GetAllocationDescription().GetRequestedBytes() < 4 {
					t.Errorf("the output of y: %v", d)
				}
			}
		}
	}
	for _, want := range []string{"/job:worker/replica:0/task:0/device:CPU:0 y", "/job:ps/replica:0/task:0/device:CPU:0 add0", "/job:ps/replica:0/task:1/device:CPU:0 read1"} {
		if !slices.Contains(nodes, want) {
			t.Errorf("no %q in %q", want, nodes)
		}
	}
}
