package master_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/goestimator/goestimator/internal/clusterruntime/master"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
)

// single is a cluster of one task.
type single struct{ worker service.Local }

func (s single) Tasks() []master.Task                       { return []master.Task{{Job: "local"}} }
func (s single) Worker(string, int) (service.Caller, error) { return s.worker, nil }

func Example() {
	w := worker.New(worker.Config{Devices: []*device_attributes_go_proto.DeviceAttributes{{Name: "/job:local/replica:0/task:0/device:CPU:0", DeviceType: "CPU", Incarnation: 1}}})
	m := service.Local(master.New(master.Task{Job: "local"}, single{w.Methods()}, slog.New(slog.DiscardHandler)).Methods())
	session, err := service.Ask[rpcs.CreateSessionResponse](context.Background(), m, "CreateSession", &rpcs.CreateSessionRequest{})
	fmt.Println(session.GetGraphVersion(), err)
	devices, err := service.Ask[rpcs.ListDevicesResponse](context.Background(), m, "ListDevices", &rpcs.ListDevicesRequest{SessionHandle: session.GetSessionHandle()})
	fmt.Println(devices.GetLocalDevice()[0].GetName(), err)
	// Output:
	// 1 <nil>
	// /job:local/replica:0/task:0/device:CPU:0 <nil>
}
