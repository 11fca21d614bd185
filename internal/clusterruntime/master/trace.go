package master

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/framework/step_stats_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// execution says what workers record of a step, nil for nothing. Partial runs are not traced.
func (c call) execution() *rpcs.ExecutorOpts {
	o := c.options
	if o.GetTraceLevel() == for_core_protos_go_proto.RunOptions_NO_TRACE && !o.GetOutputPartitionGraphs() && !o.GetReportTensorAllocationsUponOom() {
		return nil
	}
	return &rpcs.ExecutorOpts{
		RecordTimeline:                 o.GetTraceLevel() != for_core_protos_go_proto.RunOptions_NO_TRACE,
		RecordPartitionGraphs:          o.GetOutputPartitionGraphs(),
		ReportTensorAllocationsUponOom: o.GetReportTensorAllocationsUponOom(),
	}
}

// note adds what a worker recorded of a step.
func (c call) note(out *rpcs.RunGraphResponse) {
	if c.made == nil {
		return
	}
	c.made.PartitionGraphs = append(c.made.PartitionGraphs, out.GetPartitionGraph()...)
	if stats := out.GetStepStats().GetDevStats(); len(stats) > 0 {
		if c.made.StepStats == nil {
			c.made.StepStats = &step_stats_go_proto.StepStats{}
		}
		c.made.StepStats.DevStats = append(c.made.StepStats.DevStats, stats...)
	}
}

// logPlacement logs the device of each node, in TensorFlow's form: log_device_placement.
func (m *Master) logPlacement(parts []partition.Part) {
	for _, p := range parts {
		for _, n := range p.Graph.Nodes() {
			m.log.Info(fmt.Sprintf("%s: (%s): %s", n.Name, n.Op, n.Device))
		}
	}
}
