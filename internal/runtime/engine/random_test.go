package engine

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// TestRandomOps sees that the numbers depend on key and counter alone, and that their moments are right.
func TestRandomOps(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		for _, c := range []struct {
			op             string
			mean, variance float64
		}{{"StatelessRandomUniformV2", 0.5, 1. / 12}, {"StatelessRandomNormalV2", 0, 1}, {"StatelessTruncatedNormalV2", 0, 0.774}} {
			for _, d := range []tensor.DType{tensor.Float32, tensor.Float64} {
				b := graph.NewBuilder(graph.New())
				shape := b.Const("shape", dense([]int32{-1, 10}, 2))
				key := b.Const("key", dense([]uint64{42}, 1))
				counter := b.Placeholder("counter", fixedType(tensor.Uint64, 2))
				alg := b.Const("alg", tensor.Scalar(int32(1)))
				out := b.Op(c.op, "r", batchType(d, 10), nil, shape, key, counter, alg)
				p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{counter}, Fetches: []graph.Output{out}}, dev, ok(NewVariables(dev)), Options{Capacity: 1000}))
				draw := func(n uint64) nd {
					if err := p.Run(bg, 1000, []*tensor.Tensor{dense([]uint64{n, 0}, 2)}); err != nil {
						t.Fatal(err)
					}
					return toND(p.Value(0))
				}
				a, other, again := draw(7), draw(100_000_000), draw(7)
				mean, square, same := 0.0, 0.0, 0
				for i, x := range a.data {
					mean += x / 10000
					square += x * x / 10000
					if x != again.data[i] {
						t.Fatalf("%s: the same counter gave %v and %v", c.op, x, again.data[i])
					}
					if x == other.data[i] {
						same++
					}
				}
				if math.Abs(mean-c.mean) > 0.04 || math.Abs(square-mean*mean-c.variance) > 0.05 || same > 10 {
					t.Errorf("%s %v: mean %v, variance %v, %d equal numbers at another counter", c.op, d, mean, square-mean*mean, same)
				}
			}
		}
	})
}
