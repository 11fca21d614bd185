package worker_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
)

// cpu is the only device of the example's task.
const cpu = "/job:local/replica:0/task:0/device:CPU:0"

func Example() {
	ctx := context.Background()
	w := service.Local(worker.New(worker.Config{Devices: []*device_attributes_go_proto.DeviceAttributes{{Name: cpu, DeviceType: "CPU", Incarnation: 1}}}).Methods())

	b := graph.NewBuilder(graph.New())
	hello := b.Const("hello", tensor.Scalar(float32(1)))
	b.Node("_Send", "send", nil, graph.Attrs{"tensor_name": []byte("hello:0"), "send_device": []byte(cpu), "send_device_incarnation": int64(1), "recv_device": []byte(cpu)}, hello)
	def, err := graphdef.ToGraphDef(b.Graph)
	if err != nil {
		fmt.Println(err)
		return
	}
	registered, err := service.Ask[rpcs.RegisterGraphResponse](ctx, w, "RegisterGraph", &rpcs.RegisterGraphRequest{GraphDef: def})
	if err != nil {
		fmt.Println(err)
		return
	}
	key := rendezvous.Key{From: cpu, Incarnation: 1, To: cpu, Edge: "hello:0", Iteration: rendezvous.Outside}
	out, err := service.Ask[rpcs.RunGraphResponse](ctx, w, "RunGraph", &rpcs.RunGraphRequest{GraphHandle: registered.GetGraphHandle(), StepId: 1, RecvKey: []string{key.String()}})
	fmt.Println(out.GetRecv()[0].GetTensor().GetDtype(), err)
	// Output: DT_FLOAT <nil>
}
