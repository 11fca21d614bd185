package worker

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/wamuir/graft/tensorflow/core/framework/allocation_description_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/step_stats_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_description_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// maxTraced is how many runs of nodes a trace keeps: loops run a node often.
const maxTraced = 1 << 16

// trace records when the nodes of a step ran, and their outputs.
type trace struct {
	mu      sync.Mutex
	devices map[string]*step_stats_go_proto.DeviceStepStats
	stats   step_stats_go_proto.StepStats
	runs    int
}

// ran records a run of a node. It is an eager.Env.Ran.
func (t *trace) ran(n *graph.Node, began time.Time, out []eager.Value) {
	took := time.Since(began)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runs++; t.runs > maxTraced {
		return
	}
	d := t.devices[n.Device]
	if d == nil {
		if t.devices == nil {
			t.devices = map[string]*step_stats_go_proto.DeviceStepStats{}
		}
		d = &step_stats_go_proto.DeviceStepStats{Device: n.Device}
		t.devices[n.Device] = d
		t.stats.DevStats = append(t.stats.DevStats, d)
	}
	d.NodeStats = append(d.NodeStats, &step_stats_go_proto.NodeExecStats{
		NodeName: n.Name, TimelineLabel: label(n), Output: outputs(out),
		ScheduledMicros: began.UnixMicro(), ScheduledNanos: began.UnixNano(),
		AllStartMicros: began.UnixMicro(), AllStartNanos: began.UnixNano(),
		OpEndRelMicros: took.Microseconds(), OpEndRelNanos: took.Nanoseconds(),
		AllEndRelMicros: took.Microseconds(), AllEndRelNanos: took.Nanoseconds(),
	})
}

// label describes a node in the form that TensorFlow's Timeline reads.
func label(n *graph.Node) string {
	var in []string
	for _, o := range n.Inputs {
		name := o.Node.Name
		if o.Index > 0 {
			name = fmt.Sprintf("%s:%d", name, o.Index)
		}
		in = append(in, name)
	}
	for _, c := range n.Control {
		in = append(in, "^"+c.Name)
	}
	return fmt.Sprintf("%s = %s(%s)", n.Name, n.Op, strings.Join(in, ", "))
}

// outputs describes the output tensors of a node.
func outputs(out []eager.Value) (all []*step_stats_go_proto.NodeOutput) {
	for slot, v := range out {
		if v.T == nil {
			continue
		}
		shape := &tensor_shape_go_proto.TensorShapeProto{}
		for _, d := range v.T.Shape {
			shape.Dim = append(shape.Dim, &tensor_shape_go_proto.TensorShapeProto_Dim{Size: int64(d)})
		}
		bytes := int64(v.T.MemoryBytes())
		all = append(all, &step_stats_go_proto.NodeOutput{Slot: int32(slot), TensorDescription: &tensor_description_go_proto.TensorDescription{
			Dtype: types_go_proto.DataType(v.T.DType), Shape: shape,
			AllocationDescription: &allocation_description_go_proto.AllocationDescription{RequestedBytes: bytes, AllocatedBytes: bytes, AllocatorName: "cpu"}}})
	}
	return all
}

// observe records the nodes of a step if its master asked for that.
func (t *trace) observe(env *eager.Env, o *rpcs.ExecutorOpts) {
	if o.GetRecordTimeline() {
		env.Ran = t.ran
	}
}

// report adds the information that the master asked for to the answer of a step.
func (t *trace) report(out *rpcs.RunGraphResponse, p *registered, o *rpcs.ExecutorOpts) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o.GetRecordTimeline() {
		out.StepStats = &t.stats
	}
	if o.GetRecordPartitionGraphs() {
		def, err := graphdef.ToGraphDef(p.graph)
		if err != nil {
			return err
		}
		out.PartitionGraph = append(out.PartitionGraph, def)
	}
	return nil
}
