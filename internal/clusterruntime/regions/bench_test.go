package regions_test

import (
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// BenchmarkLayers compares 20 products of 128 x 128 matrices, each followed by four elementwise ops, with the nodes run one by one.
func BenchmarkLayers(b *testing.B) {
	for _, fused := range []bool{true, false} {
		b.Run(fmt.Sprintf("fused=%v", fused), func(b *testing.B) {
			g := newText()
			x := g.recv("x")
			for range 20 {
				x = g.Op("MatMul", "matmul", x.Type(), graph.Attrs{"T": tensor.Float32}, x, x)
				x = g.op("Tanh", g.op("Mul", g.op("AddV2", x, x), g.Const("half", tensor.Scalar(float32(0.5)))))
			}
			g.send("out", x)
			p, set := program(b, g, fused)
			defer set.Close()
			in := map[string]rendezvous.Item{"x": {Tensor: matrix(128, 1)}}
			for range 3 {
				if _, err := run(p, in); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if _, err := run(p, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
