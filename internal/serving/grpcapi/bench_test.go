package grpcapi_test

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/serving/wire"
	"github.com/goestimator/goestimator/tensor"
	ex "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// loopback serves a model that costs nothing, over TCP.
func loopback(b *testing.B) *grpc.ClientConn {
	info := func(name string) map[string]*pb.TensorInfo {
		return map[string]*pb.TensorInfo{name: {Encoding: &pb.TensorInfo_Name{Name: name + ":0"}}}
	}
	m := &servable.Func{
		Sigs: map[string]*pb.SignatureDef{"serving_default": {Inputs: info("x"), Outputs: info("x")}, "regress": {Inputs: info("inputs"), Outputs: info("outputs")}},
		Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
			if e := feeds["inputs:0"]; e != nil {
				return []*tensor.Tensor{tensor.New(tensor.Float32, e.Len())}, nil
			}
			return []*tensor.Tensor{feeds["x:0"]}, nil
		}}
	src := &servable.Memory{}
	src.Set(servable.ID{Name: "m", Version: 1}, m)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	limits := grpcapi.Limits{Memory: budget.NewServer(budget.Limits{})}
	b.Cleanup(limits.Memory.Close)
	s := grpc.NewServer(grpcapi.Options(limits)...)
	limits.Register(s, &inference.Service{Models: src}, &grpcapi.Models{Catalog: src})
	go func() { _ = s.Serve(lis) }()
	b.Cleanup(s.Stop)
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(wire.Codec{}), grpc.MaxCallRecvMsgSize(1<<30)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	return conn
}

// BenchmarkRoundTrip makes a Predict call over TCP, with client and server in one process.
func BenchmarkRoundTrip(b *testing.B) {
	for _, n := range []int{1, 1 << 10, 1 << 18} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			conn, req := loopback(b), request("", make([]float32, n)...)
			b.SetBytes(int64(8 * n))
			b.ReportAllocs()
			for b.Loop() {
				if err := conn.Invoke(b.Context(), predictMethod, req, &apis.PredictResponse{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRegress makes a call with 64 examples of 20 features.
func BenchmarkRegress(b *testing.B) {
	list := make([]*ex.Example, 64)
	for i := range list {
		f := map[string]*ex.Feature{}
		for j := range 20 {
			f[fmt.Sprintf("feature_%d", j)] = &ex.Feature{Kind: &ex.Feature_FloatList{FloatList: &ex.FloatList{Value: []float32{float32(i * j)}}}}
		}
		list[i] = &ex.Example{Features: &ex.Features{Feature: f}}
	}
	req := &apis.RegressionRequest{ModelSpec: &apis.ModelSpec{Name: "m", SignatureName: "regress"},
		Input: &apis.Input{Kind: &apis.Input_ExampleList{ExampleList: &apis.ExampleList{Examples: list}}}}
	conn := loopback(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := conn.Invoke(b.Context(), "/tensorflow.serving.PredictionService/Regress", req, &apis.RegressionResponse{}); err != nil {
			b.Fatal(err)
		}
	}
}
