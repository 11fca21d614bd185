package openinference_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/openinference"
	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
)

// Half of two numbers plus two, as clients of KServe and Triton request it.
func Example() {
	models := modeltest.Source()
	s := &openinference.Service{Inference: &inference.Service{Models: models}, Catalog: models}
	r, err := s.ModelInfer(context.Background(), &pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{
		{Name: "x", Datatype: "FP32", Shape: []int64{2}, Contents: &pb.InferTensorContents{Fp32Contents: []float32{1, 2}}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.ModelVersion, r.Outputs[0].Name, r.Outputs[0].Contents.Fp32Contents)
	// Output: 2 y [2.5 3]
}
