package codec_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/codec"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
)

func Example() {
	content := make([]byte, 1<<20)
	data, err := codec.Codec{}.Marshal(&rpcs.RecvTensorResponse{Tensor: &tensor_go_proto.TensorProto{TensorContent: content}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(&data[1].ReadOnlyData()[0] == &content[0])
	out := &rpcs.RecvTensorResponse{}
	fmt.Println(codec.Codec{}.Unmarshal(data, out), len(out.GetTensor().GetTensorContent()))
	// Output:
	// true
	// <nil> 1048576
}
