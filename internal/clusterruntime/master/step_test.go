package master

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
)

// tasks are the tasks of a job in one process, without connections.
type tasks []service.Local

func (t tasks) Tasks() (all []Task) {
	for i := range t {
		all = append(all, Task{"w", i})
	}
	return all
}

func (t tasks) Worker(_ string, task int) (service.Caller, error) { return t[task], nil }

// newTasks returns n workers that are connected.
func newTasks(n int) tasks {
	t := make(tasks, n)
	for i := range t {
		d := &device_attributes_go_proto.DeviceAttributes{Name: fmt.Sprintf("/job:w/replica:0/task:%d/device:CPU:0", i), DeviceType: "CPU", Incarnation: uint64(i + 1)}
		t[i] = worker.New(worker.Config{Devices: []*device_attributes_go_proto.DeviceAttributes{d}, Peers: t, Parallel: 2}).Methods()
	}
	return t
}

// fatal is a test or a benchmark, also of package rapid.
type fatal interface{ Fatal(args ...any) }

// openTasks opens a session with a graph at the first of the tasks.
func openTasks(ctx context.Context, t fatal, tasks int, def *graph_go_proto.GraphDef) (*Master, string) {
	m := New(Task{"w", 0}, newTasks(tasks), slog.New(slog.DiscardHandler))
	out, err := m.createSession(ctx, &rpcs.CreateSessionRequest{GraphDef: def})
	if err != nil {
		t.Fatal(err)
	}
	return m, out.GetSessionHandle()
}

// plusOne is x + 1 on each of the tasks: "y0:0", "y1:0".
func plusOne(t testing.TB, tasks int) *graph_go_proto.GraphDef {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	number := graph.TypeOf(tensor.Float32)
	x := b.Op("Placeholder", "x", number, graph.Attrs{"dtype": tensor.Float32})
	for i := range tasks {
		one := b.Const(fmt.Sprint("one", i), tensor.Scalar(float32(1)))
		y := b.Op("AddV2", fmt.Sprint("y", i), number, graph.Attrs{"T": tensor.Float32}, x, one)
		one.Node.Device = fmt.Sprint("/job:w/task:", i)
		y.Node.Device = one.Node.Device
	}
	def, err := graphdef.ToGraphDef(b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	return def
}

// stepAt is a step that feeds x and fetches y of a task.
func stepAt(t testing.TB, session string, task int) *rpcs.RunStepRequest {
	return &rpcs.RunStepRequest{SessionHandle: session, Feed: feed(t, map[string]float32{"x": 41}), Fetch: []string{fmt.Sprintf("y%d:0", task)}}
}

// BenchmarkStep runs a step of an unchanged graph without connections: on the master's task, and on another one.
func BenchmarkStep(b *testing.B) {
	for task, name := range []string{"own", "other"} {
		b.Run(name, func(b *testing.B) {
			m, session := openTasks(b.Context(), b, 2, plusOne(b, 2))
			in := stepAt(b, session, task)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.runStep(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestAllocationsOfAStep bounds the allocations for a step of an unchanged graph, without connections.
func TestAllocationsOfAStep(t *testing.T) {
	const most = 60
	m, session := openTasks(t.Context(), t, 2, plusOne(t, 2))
	for task := range 2 {
		in := stepAt(t, session, task)
		n := testing.AllocsPerRun(100, func() {
			if _, err := m.runStep(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		})
		if n > most {
			t.Errorf("a step on task %d: %v allocations, expected %d", task, n, most)
		}
	}
}
