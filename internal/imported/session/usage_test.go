package session

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// TestMemory: a constant counts, and again in the form that kernels read; memory that programs have freed does not.
func TestMemory(t *testing.T) {
	const rows, columns = 64, 512
	b := graph.NewBuilder(graph.New())
	typ := func(d ...graph.Dim) graph.Type {
		return graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: d}}
	}
	x := b.Placeholder("x", typ(graph.Unknown, graph.Fixed(rows)))
	w := b.Const("w", tensor.New(tensor.Float32, rows, columns))
	b.Op("MatMul", "y", typ(graph.Unknown, graph.Fixed(columns)), graph.Attrs{"T": tensor.Float32}, x, w)
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
	s, err := Load(t.Context(), &savedmodel.MetaGraph{Dir: t.TempDir(), Signatures: sig, Proto: &pb.MetaGraphDef{GraphDef: gd, SignatureDef: sig}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const weights = 4 * rows * columns
	if n := s.Memory(); n < weights {
		t.Errorf("%d bytes before the first run, the weights alone have %d", n, weights)
	}
	if _, err := s.Run(context.Background(), map[string]*tensor.Tensor{"x:0": tensor.New(tensor.Float32, 100, rows)}, []string{"y:0"}); err != nil {
		t.Fatal(err)
	}
	after := s.Memory()
	if after < 2*weights {
		t.Errorf("%d bytes after a run, expected the weights of %d twice", after, weights)
	}
	s.Evict()
	if n := s.Memory(); n >= after || n < weights {
		t.Errorf("%d bytes once idle programs are gone, %d before", n, after)
	}
	if s.Queued() != 0 {
		t.Errorf("%d runs wait", s.Queued())
	}
}

// TestQueued: a run that waits for another one counts as queued, and stops waiting when its context ends.
func TestQueued(t *testing.T) {
	s := negation(t, 1<<20)
	defer s.Close()
	ps := &programs{s: s, room: make(chan struct{}, 1)}
	if err := ps.enter(context.Background()); err != nil || s.Queued() != 0 {
		t.Fatalf("%v, %d wait", err, s.Queued())
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- ps.enter(ctx) }()
	for s.Queued() != 1 {
		select {
		case err := <-done:
			t.Fatalf("did not wait: %v", err)
		default:
		}
	}
	stop()
	if err := <-done; err != context.Canceled || s.Queued() != 0 {
		t.Errorf("%v, %d wait", err, s.Queued())
	}
}
