package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

var mlpSizes = []int{784, 512, 256, 10}

func random(n int, shape ...int) *tensor.Tensor {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	t := tensor.New(tensor.Float32, shape...)
	for i := range tensor.Values[float32](t) {
		tensor.Values[float32](t)[i] = float32(r.NormFloat64()) / 20
	}
	return t
}

// mlpGraph is a network with weights as constants; batch is dimension 0 of its types.
func mlpGraph(t testing.TB, batch graph.Dim) (*graph.Graph, graph.Output, graph.Output) {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	typ := func(n int) graph.Type {
		return graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{batch, graph.Fixed(n)}}}
	}
	x := b.Placeholder("x", typ(mlpSizes[0]))
	h := x
	for i, n := range mlpSizes[1:] {
		w := b.Const(fmt.Sprintf("w%d", i), random(i, mlpSizes[i], n))
		h = b.Op("MatMul", fmt.Sprintf("product%d", i), typ(n), graph.Attrs{"T": tensor.Float32}, h, w)
		h = b.Op("BiasAdd", fmt.Sprintf("biased%d", i), typ(n), graph.Attrs{"T": tensor.Float32}, h, b.Const(fmt.Sprintf("b%d", i), random(i+10, n)))
		if i < len(mlpSizes)-2 {
			h = b.Op("Relu", fmt.Sprintf("relu%d", i), typ(n), graph.Attrs{"T": tensor.Float32}, h)
		}
	}
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	return b.Graph, x, h
}

// metaGraph is a graph with one signature, from x to y, both called t.
func metaGraph(t testing.TB, g *graph.Graph, x, y graph.Output) *savedmodel.MetaGraph {
	t.Helper()
	gd, err := graphdef.ToGraphDef(g)
	if err != nil {
		t.Fatal(err)
	}
	info := func(o graph.Output) map[string]*pb.TensorInfo {
		return map[string]*pb.TensorInfo{"t": {Encoding: &pb.TensorInfo_Name{Name: o.String()}}}
	}
	sig := map[string]*pb.SignatureDef{savedmodel.DefaultSignature: {Inputs: info(x), Outputs: info(y)}}
	return &savedmodel.MetaGraph{Dir: t.TempDir(), Graph: g, Signatures: sig, Proto: &pb.MetaGraphDef{GraphDef: gd, SignatureDef: sig}}
}

// mlp is the network of mlpGraph as a model.
func mlp(t testing.TB, o session.Options) *session.Session {
	t.Helper()
	g, x, y := mlpGraph(t, graph.Unknown)
	s, err := session.Load(context.Background(), metaGraph(t, g, x, y), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// BenchmarkRun compares Run with the bare program, to show what a session costs.
func BenchmarkRun(b *testing.B) {
	for _, batch := range []int{1, 32} {
		x := random(batch, batch, mlpSizes[0])
		b.Run(fmt.Sprintf("session/%d", batch), func(b *testing.B) {
			s := mlp(b, session.Options{})
			sig := s.Signatures()[savedmodel.DefaultSignature]
			in, out := sig.Inputs["t"].GetName(), []string{sig.Outputs["t"].GetName()}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Run(context.Background(), map[string]*tensor.Tensor{in: x}, out); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("engine/%d", batch), func(b *testing.B) {
			g, in, out := mlpGraph(b, graph.Batch)
			dev := device.NewHost()
			vars, err := engine.NewVariables(dev)
			if err != nil {
				b.Fatal(err)
			}
			p, err := engine.Compile(g, engine.Spec{Feeds: []graph.Output{in}, Fetches: []graph.Output{out}}, dev, vars, engine.Options{Capacity: batch})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Run(context.Background(), batch, []*tensor.Tensor{x}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
