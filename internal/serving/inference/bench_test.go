package inference_test

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
)

// identity is a model that costs nothing, to measure the cost around it.
func identity() *inference.Service {
	info := map[string]*pb.TensorInfo{"x": {Encoding: &pb.TensorInfo_Name{Name: "x:0"}, Dtype: types_go_proto.DataType_DT_FLOAT}}
	m := &servable.Func{Sigs: map[string]*pb.SignatureDef{"serving_default": {Inputs: info, Outputs: info}},
		Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
			return []*tensor.Tensor{feeds["x:0"]}, nil
		}}
	src := &servable.Memory{}
	src.Set(servable.ID{Name: "m", Version: 1}, m)
	return &inference.Service{Models: src}
}

// BenchmarkPredictTensors is the cost of a call around the model.
func BenchmarkPredictTensors(b *testing.B) {
	s, in := identity(), map[string]*tensor.Tensor{"x": vector(b, 1)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.PredictTensors(b.Context(), inference.Spec{Name: "m"}, in, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPredict measures the same with messages, of one float and of one mebibyte, which is not copied.
func BenchmarkPredict(b *testing.B) {
	for name, n := range map[string]int{"1": 1, "256Ki": 1 << 18} {
		b.Run(name, func(b *testing.B) {
			s := identity()
			r := &apis.PredictRequest{ModelSpec: &apis.ModelSpec{Name: "m"}, Inputs: map[string]*tensor_go_proto.TensorProto{"x": {
				Dtype: types_go_proto.DataType_DT_FLOAT, FloatVal: make([]float32, n),
				TensorShape: &tensor_shape_go_proto.TensorShapeProto{Dim: []*tensor_shape_go_proto.TensorShapeProto_Dim{{Size: int64(n)}}}}}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Predict(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
