package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// BenchmarkStep is a training step of a two-layer network; 1x1x2 at batch 1 is the loop around the kernels.
func BenchmarkStep(b *testing.B) {
	for _, s := range [][4]int{{1, 1, 2, 1}, {784, 512, 10, 128}} {
		b.Run(fmt.Sprint(s), func(b *testing.B) {
			dev := device.NewHost()
			m := newMLP(tensor.Float32, s[0], s[1], s[2], 0.01)
			p := ok(Compile(m.g, m.spec, dev, m.variables(b, dev, 1), Options{Capacity: s[3]}))
			feeds := []*tensor.Tensor{tensor.New(tensor.Float32, s[3], s[0]), tensor.New(tensor.Int64, s[3])}
			fillRandom(rand.New(rand.NewPCG(1, 1)), feeds[0], 1)
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Run(bg, s[3], feeds); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSparseUpdate is Adagrad on 20480 rows of a table of a million.
func BenchmarkSparseUpdate(b *testing.B) {
	for _, width := range []int{1, 16} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			const rows, table = 512 * 40, 1_000_000
			dev := device.NewHost()
			vars := ok(NewVariables(dev))
			gb := graph.NewBuilder(graph.New())
			t := fixedType(tensor.Float32, table, width)
			for _, n := range []string{"w", "accum"} {
				if err := vars.Create(n, tensor.New(tensor.Float32, table, width)); err != nil {
					b.Fatal(err)
				}
			}
			grad := gb.Placeholder("grad", fixedType(tensor.Float32, rows, width))
			ids := gb.Placeholder("ids", fixedType(tensor.Int64, rows))
			n := gb.Node("ResourceSparseApplyAdagrad", "apply", nil, nil, gb.Variable("w", t), gb.Variable("accum", t), gb.Scalar("lr", tensor.Float32, 0.1), grad, ids)
			p := ok(Compile(gb.Graph, Spec{Feeds: []graph.Output{grad, ids}, Targets: []*graph.Node{n}}, dev, vars, Options{}))
			feeds := []*tensor.Tensor{tensor.New(tensor.Float32, rows, width), tensor.New(tensor.Int64, rows)}
			r := rand.New(rand.NewPCG(1, 1))
			fillRandom(r, feeds[0], 1)
			for i := range rows {
				tensor.Values[int64](feeds[1])[i] = int64(float64(table) * r.Float64() * r.Float64())
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Run(bg, 1, feeds); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
