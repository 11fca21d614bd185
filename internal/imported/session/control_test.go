package session_test

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/tensor"
)

// A node after a fed input of its signature waits for nothing, even if everything runs in order because something is written.
func TestControlInputThatIsFed(t *testing.T) {
	for _, writes := range []bool{false, true} {
		runAfterAnInput(t, writes)
	}
}

func runAfterAnInput(t *testing.T, writes bool) {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	typ := graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(2)}}}
	x, late := b.Placeholder("x", typ), b.Placeholder("late", typ)
	y := b.Op("Relu", "y", typ, graph.Attrs{"T": tensor.Float32}, x)
	y.Node.Control = []*graph.Node{late.Node}
	if writes {
		v := b.Op("VarHandleOp", "v", graph.Type{DType: tensor.Resource}, graph.Attrs{"dtype": tensor.Float32, "shared_name": []byte("v")})
		one := b.Const("one", tensor.Scalar(float32(1)))
		write := &graph.Node{Name: "write", Op: "AssignVariableOp", Inputs: []graph.Output{v, one}, Attrs: graph.Attrs{"dtype": tensor.Float32}, Control: []*graph.Node{late.Node}}
		if err := b.Graph.Add(write); err != nil {
			t.Fatal(err)
		}
		y.Node.Control = append(y.Node.Control, write)
	}
	mg := metaGraph(t, b.Graph, x, y)
	for _, sig := range mg.Signatures {
		sig.Inputs["late"] = metaGraph(t, b.Graph, late, y).Signatures["serving_default"].Inputs["t"]
	}
	s, err := session.Load(context.Background(), mg, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in := floats(t, []float32{-1, 2}, 1, 2)
	out, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": in, "late:0": in}, []string{"y:0"})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "after an input", out[0], 0, 2)
}
