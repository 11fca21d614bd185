package rest_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/rest"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// Serving a model that doubles.
func Example() {
	x := func(name string) map[string]*pb.TensorInfo {
		return map[string]*pb.TensorInfo{name: {Dtype: types_go_proto.DataType_DT_FLOAT, Encoding: &pb.TensorInfo_Name{Name: name + ":0"}}}
	}
	double := &servable.Func{
		Sigs: map[string]*pb.SignatureDef{"serving_default": {MethodName: "tensorflow/serving/predict", Inputs: x("x"), Outputs: x("y")}},
		Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
			y := feeds["x:0"].Clone()
			for i, v := range tensor.Values[float32](y) {
				tensor.Values[float32](y)[i] = 2 * v
			}
			return []*tensor.Tensor{y}, nil
		},
	}
	var models servable.Memory
	models.Set(servable.ID{Name: "double", Version: 1}, double)
	server := httptest.NewServer(rest.New(rest.Options{
		Service: &inference.Service{Models: &models, Entrypoint: "REST"},
		Catalog: &models,
	}))
	defer server.Close()

	for _, body := range []string{`{"instances": [[0.1, 1], [2, Infinity]]}`, `{"instances": ["a"]}`} {
		resp, err := server.Client().Post(server.URL+"/v1/models/double:predict", "application/json", strings.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(resp.StatusCode, string(text))
	}
	// Output:
	// 200 {
	//     "predictions": [[0.2, 2.0], [4.0, Infinity]
	//     ]
	// }
	// 400 {
	//     "error": "Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT: JSON Value: \"a\" Type: String is not of expected type: float"
	// }
}
