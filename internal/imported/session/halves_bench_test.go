package session_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/tensor"
)

// typed is a network of three layers of 1024 units with weights of a type.
func typed(t testing.TB, d tensor.DType) (*session.Session, string, []string) {
	t.Helper()
	const width = 1024
	b := graph.NewBuilder(graph.New())
	typ := graph.Type{DType: d, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(width)}}}
	x := b.Placeholder("x", typ)
	h := x
	for i := range 3 {
		w := b.Const(fmt.Sprintf("w%d", i), as(d, random(i, width, width)))
		h = b.Op("MatMul", fmt.Sprintf("product%d", i), typ, graph.Attrs{"T": d}, h, w)
		h = b.Op("BiasAdd", fmt.Sprintf("biased%d", i), typ, graph.Attrs{"T": d}, h, b.Const(fmt.Sprintf("b%d", i), as(d, random(i+10, width))))
		h = b.Op("Relu", fmt.Sprintf("relu%d", i), typ, graph.Attrs{"T": d}, h)
	}
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	s, err := session.Load(context.Background(), metaGraph(t, b.Graph, x, h), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	sig := s.Signatures()[savedmodel.DefaultSignature]
	return s, sig.Inputs["t"].GetName(), []string{sig.Outputs["t"].GetName()}
}

// as converts a float32 tensor.
func as(d tensor.DType, x *tensor.Tensor) *tensor.Tensor {
	if d == tensor.Float32 {
		return x
	}
	y := tensor.New(d, x.Shape...)
	convert.Between(tensor.Float32, d)(y.Bytes, x.Bytes)
	return y
}

// BenchmarkHalves compares a network with 16-bit weights and one with float32 weights.
func BenchmarkHalves(b *testing.B) {
	for _, batch := range []int{1, 32} {
		for _, d := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16} {
			b.Run(fmt.Sprintf("%v/%d", d, batch), func(b *testing.B) {
				s, in, out := typed(b, d)
				x := as(d, random(batch, batch, 1024))
				for b.Loop() {
					if _, err := s.Run(context.Background(), map[string]*tensor.Tensor{in: x}, out); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
