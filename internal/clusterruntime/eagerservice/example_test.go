package eagerservice_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/eagerservice"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

func Example() {
	ctx := context.Background()
	cpu := &device_attributes_go_proto.DeviceAttributes{Name: "/job:worker/replica:0/task:0/device:CPU:0", DeviceType: "CPU", Incarnation: 1}
	w := worker.New(worker.Config{Devices: []*device_attributes_go_proto.DeviceAttributes{cpu}})
	eager := service.Local(eagerservice.New(eagerservice.Config{Worker: w, Methods: w.Methods(), Devices: []*device_attributes_go_proto.DeviceAttributes{cpu}}).Methods())

	_, err := service.Ask[rpcs.CreateContextResponse](ctx, eager, "CreateContext", &rpcs.CreateContextRequest{ContextId: 1, ServerDef: &for_core_protos_go_proto.ServerDef{JobName: "worker"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	seven, err := graphdef.ToTensorProto(tensor.Scalar(float32(7)), true)
	if err != nil {
		fmt.Println(err)
		return
	}
	negate := &rpcs.Operation{Id: 1, Name: "Neg", OpInputs: []*rpcs.Operation_Input{{Item: &rpcs.Operation_Input_Tensor{Tensor: seven}}}}
	out, err := service.Ask[rpcs.EnqueueResponse](ctx, eager, "Enqueue", &rpcs.EnqueueRequest{ContextId: 1, Queue: []*rpcs.QueueItem{{Item: &rpcs.QueueItem_Operation{Operation: negate}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("dimensions:", len(out.GetQueueResponse()[0].GetShape()[0].GetDim()))
	// Output: dimensions: 0
}
