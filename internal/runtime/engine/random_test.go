package engine

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// TestRandomOps checks that the numbers depend only on key and counter, and that their moments are right.
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

// TestRandomInts: all integers of a range are about equally frequent; an empty range is refused.
func TestRandomInts(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	key, counter := b.Const("key", dense([]uint64{42}, 1)), b.Const("counter", dense([]uint64{0, 3}, 2))
	limit := b.Placeholder("limit", fixedType(tensor.Int64))
	out := b.Op("StatelessRandomUniformIntV2", "r", fixedType(tensor.Int64, 5000), nil, b.Const("shape", dense([]int32{5000}, 1)), key, counter,
		b.Const("alg", tensor.Scalar(int32(1))), b.Const("low", tensor.Scalar(int64(-2))), limit)
	p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{limit}, Fetches: []graph.Output{out}}, device.NewHost(), ok(NewVariables(device.NewHost())), Options{Capacity: 1}))
	if err := p.Run(bg, 1, []*tensor.Tensor{tensor.Scalar(int64(3))}); err != nil {
		t.Fatal(err)
	}
	seen := map[float64]int{}
	for _, v := range toND(p.Value(0)).data {
		seen[v]++
	}
	for v := -2.0; v < 3; v++ {
		if n := seen[v]; n < 900 || n > 1100 || len(seen) != 5 {
			t.Errorf("%v was drawn %d times of 5000, of %d numbers: expected about 1000 each of 5", v, n, len(seen))
		}
	}
	if err := p.Run(bg, 1, []*tensor.Tensor{tensor.Scalar(int64(-2))}); err == nil {
		t.Error("a range without numbers was not refused")
	}
}
