package session_test

import (
	"context"
	"fmt"
	"os"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

func Example() {
	b := graph.NewBuilder(graph.New())
	rows := graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown}}}
	x := b.Placeholder("x", rows)
	half := b.Op("Mul", "half", rows, graph.Attrs{"T": tensor.Float32}, x, b.Scalar("a", tensor.Float32, 0.5))
	y := b.Op("AddV2", "y", rows, graph.Attrs{"T": tensor.Float32}, half, b.Scalar("b", tensor.Float32, 2))
	gd, err := graphdef.ToGraphDef(b.Graph)
	if err != nil || b.Err() != nil {
		panic(fmt.Sprint(err, b.Err()))
	}
	sig := map[string]*pb.SignatureDef{savedmodel.DefaultSignature: {
		Inputs:  map[string]*pb.TensorInfo{"x": {Encoding: &pb.TensorInfo_Name{Name: x.String()}}},
		Outputs: map[string]*pb.TensorInfo{"y": {Encoding: &pb.TensorInfo_Name{Name: y.String()}}}}}
	s, err := session.Load(context.Background(), &savedmodel.MetaGraph{Dir: os.TempDir(), Graph: b.Graph, Signatures: sig,
		Proto: &pb.MetaGraphDef{GraphDef: gd}}, session.Options{})
	if err != nil {
		panic(err)
	}
	in, err := tensor.FromSlice([]float32{1, 2, 5}, 3)
	if err != nil {
		panic(err)
	}
	out, err := s.Run(context.Background(), map[string]*tensor.Tensor{"x:0": in}, []string{"y:0"})
	fmt.Println(tensor.Values[float32](out[0]), err)
	fmt.Println(s.Close())
	// Output:
	// [2.5 3 4.5] <nil>
	// <nil>
}
