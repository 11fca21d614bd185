package wire_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/serving/wire"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
)

func Example() {
	large := &apis.PredictResponse{Outputs: map[string]*tensor_go_proto.TensorProto{"y": {FloatVal: make([]float32, 1<<20)}}}
	sent, err := wire.Codec{}.Marshal(large)
	fmt.Println(sent.Len(), "bytes in", len(sent), "buffers", err)

	received := &apis.PredictResponse{}
	err = wire.Codec{}.Unmarshal(sent, received)
	fmt.Println(len(received.GetOutputs()["y"].GetFloatVal()), err)
	// Output:
	// 4194322 bytes in 2 buffers <nil>
	// 1048576 <nil>
}
