package session

import (
	"context"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// negation is a model that negates matrices of any size.
func negation(t *testing.T, limit int64) *Session {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	typ := graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Unknown}}}
	x := b.Placeholder("x", typ)
	b.Op("Neg", "y", typ, graph.Attrs{"T": tensor.Float32}, x)
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	gd, err := graphdef.ToGraphDef(b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	info := func(name string) map[string]*pb.TensorInfo {
		return map[string]*pb.TensorInfo{"t": {Encoding: &pb.TensorInfo_Name{Name: name}}}
	}
	sig := map[string]*pb.SignatureDef{savedmodel.DefaultSignature: {Inputs: info("x:0"), Outputs: info("y:0")}}
	s, err := Load(t.Context(), &savedmodel.MetaGraph{Dir: t.TempDir(), Signatures: sig, Proto: &pb.MetaGraphDef{GraphDef: gd, SignatureDef: sig}}, Options{MaxConcurrent: 3, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestShed: the memory of programs for large batches is bounded, whatever sizes are requested, and answers stay right.
func TestShed(t *testing.T) {
	const limit = 1 << 18
	s := negation(t, limit)
	var clients sync.WaitGroup
	for k := range 6 {
		clients.Go(func() {
			for i := range 40 {
				x := tensor.New(tensor.Float32, 1+(i*5+k)%9*100, 1+(i+k)%7*8)
				tensor.Values[float32](x)[0] = float32(i)
				y, err := s.Run(context.Background(), map[string]*tensor.Tensor{"x:0": x}, []string{"y:0"})
				if err != nil || tensor.Values[float32](y[0])[0] != -float32(i) {
					t.Errorf("%v: got %v, %v", x.Shape, y, err)
					return
				}
			}
		})
	}
	clients.Wait()
	if held := s.idle.Load(); held > limit || held < 0 {
		t.Errorf("idle programs hold %d bytes, expected at most %d", held, limit)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if held := s.idle.Load(); held != 0 {
		t.Errorf("%d bytes are left after closing", held)
	}
}
