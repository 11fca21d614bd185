package session

import (
	"fmt"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// specials counts the compiled forms of a session's stages.
func specials(s *Session) (n int) {
	for _, p := range s.plans {
		for _, v := range p.variants {
			for _, part := range v.stages {
				if c, ok := part.(*compiledStage); ok {
					n += len(c.specials)
				}
			}
		}
	}
	return n
}

// TestFirstOpenFeedSetsTheBatch: of several feeds with an unknown first
// dimension, the first one sets the batch, even after feeds without one. Its sizes
// share a compiled form; the sizes of the other feeds do not.
func TestFirstOpenFeedSetsTheBatch(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	vector := graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown}}}
	product := graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Unknown}}}
	scale := b.Placeholder("scale", graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf()})
	pair := b.Placeholder("pair", graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(2)})
	rows, columns := b.Placeholder("rows", vector), b.Placeholder("width", vector)
	one := b.Const("one", tensor.Scalar(int32(1)))
	zero := b.Const("zero", tensor.Scalar(int32(0)))
	tall := b.Op("ExpandDims", "tall", product, graph.Attrs{"T": tensor.Float32, "Tdim": tensor.Int32}, rows, one)
	wide := b.Op("ExpandDims", "wide", product, graph.Attrs{"T": tensor.Float32, "Tdim": tensor.Int32}, columns, zero)
	sum := b.Op("Sum", "sum", graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf()},
		graph.Attrs{"T": tensor.Float32, "Tidx": tensor.Int32, "keep_dims": false}, pair, zero)
	outer := b.Op("MatMul", "outer", product, graph.Attrs{"T": tensor.Float32}, tall, wide)
	scaled := b.Op("Mul", "scaled", product, graph.Attrs{"T": tensor.Float32}, outer, scale)
	y := b.Op("AddV2", "y", product, graph.Attrs{"T": tensor.Float32}, scaled, sum)
	s := sessionOf(t, b, map[string]graph.Output{"a": scale, "b": pair, "c": rows, "d": columns}, y)
	run := func(rows, columns int) {
		t.Helper()
		feeds := map[string]*tensor.Tensor{"scale:0": tensor.Scalar(float32(2)), "pair:0": ramp(2), "rows:0": ramp(rows), "width:0": ramp(columns)}
		got, err := s.Run(t.Context(), feeds, []string{"y:0"})
		if err != nil {
			t.Fatal(err)
		}
		last := float64(tensor.Values[float32](got[0])[rows*columns-1])
		if want := float64(2*rows*columns + 3); fmt.Sprint(got[0].Shape) != fmt.Sprint([]int{rows, columns}) || math.Abs(last-want) > 1e-4 {
			t.Fatalf("%d rows, %d columns: got %v ... %v, expected %v", rows, columns, got[0].Shape, last, want)
		}
	}
	run(3, 6)
	first := specials(s)
	for _, n := range []int{5, 4, 7, 6} {
		run(n, 6)
	}
	if n := specials(s); n != first {
		t.Errorf("the first batch was compiled in %d forms, five batches in %d, expected no more", first, n)
	}
	run(5, 9)
	if n := specials(s); n <= first {
		t.Errorf("other columns: %d forms, expected more than %d", n, first)
	}
}

// ramp is 1, 2, ... n.
func ramp(n int) *tensor.Tensor {
	x := tensor.New(tensor.Float32, n)
	for i := range tensor.Values[float32](x) {
		tensor.Values[float32](x)[i] = float32(i + 1)
	}
	return x
}

// sessionOf loads a graph as a model with one signature.
func sessionOf(t *testing.T, b *graph.Builder, in map[string]graph.Output, y graph.Output) *Session {
	t.Helper()
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	gd, err := graphdef.ToGraphDef(b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	info := func(o graph.Output) *pb.TensorInfo {
		return &pb.TensorInfo{Encoding: &pb.TensorInfo_Name{Name: o.String()}}
	}
	inputs := map[string]*pb.TensorInfo{}
	for alias, o := range in {
		inputs[alias] = info(o)
	}
	sig := map[string]*pb.SignatureDef{savedmodel.DefaultSignature: {Inputs: inputs, Outputs: map[string]*pb.TensorInfo{"y": info(y)}}}
	s, err := Load(t.Context(), &savedmodel.MetaGraph{Dir: t.TempDir(), Signatures: sig, Proto: &pb.MetaGraphDef{GraphDef: gd, SignatureDef: sig}}, Options{MaxConcurrent: 1})
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
