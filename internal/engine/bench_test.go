package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/device"
	"github.com/goestimator/goestimator/internal/graph"
)

// BenchmarkStep is a training step of a two-layer network; 1x1x2 at batch 1 is the loop around the kernels.
func BenchmarkStep(b *testing.B) {
	for _, s := range [][4]int{{1, 1, 2, 1}, {784, 512, 10, 128}} {
		b.Run(fmt.Sprint(s), func(b *testing.B) {
			dev := device.NewHost()
			m := newMLP(graph.Float32, s[0], s[1], s[2], 0.01)
			p := ok(Compile(m.g, m.spec, dev, m.variables(b, dev, 1), Options{Capacity: s[3]}))
			feeds := []*graph.Tensor{graph.NewTensor(graph.Float32, s[3], s[0]), graph.NewTensor(graph.Int64, s[3])}
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
