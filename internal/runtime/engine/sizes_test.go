package engine

import (
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// TestSizesThatDoNotFit compiles graphs with values too large for any machine.
// Some sizes overflow 64 bits to small numbers.
func TestSizesThatDoNotFit(t *testing.T) {
	at := func(perBatch int) graph.Dim { return graph.Dim{PerBatch: perBatch} }
	for name, c := range map[string]struct {
		capacity int
		dims     []graph.Dim
	}{
		"one beyond the limit":    {1, []graph.Dim{graph.Fixed(maxValue/4 + 1)}},
		"a product of 2^64":       {1, []graph.Dim{graph.Fixed(1 << 40), graph.Fixed(1 << 22)}},
		"a product of 2^65 and 4": {1, []graph.Dim{graph.Fixed(1 << 31), graph.Fixed(1 << 33)}},
		"more of them":            {1, []graph.Dim{graph.Fixed(1 << 43), graph.Fixed(1 << 43), graph.Fixed(1 << 43)}},
		"wraps to a few elements": {1, []graph.Dim{graph.Fixed(1 << 32), graph.Fixed(1<<32 + 1)}},
		"the largest dimension":   {1, []graph.Dim{graph.Fixed(math.MaxInt), graph.Fixed(2)}},
		"a batch":                 {1 << 40, []graph.Dim{at(1 << 8)}},
		"a batch of 2^64":         {1 << 32, []graph.Dim{at(1 << 32)}},
		"a constant and a batch":  {1, []graph.Dim{{PerBatch: 1, Const: math.MaxInt}}},
		"a batch that turns sign": {1 << 31, []graph.Dim{at(1 << 32)}},
	} {
		t.Run(name, func(t *testing.T) {
			b := graph.NewBuilder(graph.New())
			typ := graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: c.dims}}
			x := b.Placeholder("x", typ)
			y := b.Op("Neg", "y", typ, graph.Attrs{"T": tensor.Float32}, x)
			if err := b.Err(); err != nil {
				t.Fatal(err)
			}
			dev := device.NewHost()
			p, err := Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{y}}, dev, ok(NewVariables(dev)), Options{Capacity: c.capacity})
			if err == nil {
				p.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "does not fit into memory") {
				t.Fatalf("got %v", err)
			}
		})
	}
}
