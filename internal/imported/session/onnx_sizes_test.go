package session_test

import (
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// TestSizesThatAreNoConstants: what is filled up to a multiple, or cut at a limit, is computed for each request, though a model whose
// convolution needs at least 7 pixels cannot be tried with all sizes.
func TestSizesThatAreNoConstants(t *testing.T) {
	kernel := tensor.New(tensor.Float32, 1, 1, 7)
	tensor.Values[float32](kernel)[0] = 1
	node := func(op string, in []string, out string) onnx.Node {
		return onnx.Node{Op: op, Inputs: in, Outputs: []string{out}}
	}
	cut := func(n, at int) int { return min(n, at) }
	raise := func(n, to int) int { return max(n, to) }
	fill := func(n, k int) int { return (n + k - 1) / k * k }
	for _, c := range []struct {
		op     string
		number int64
		size   func(n, number int) int
	}{{"Mod", 2, fill}, {"Mod", 8, fill}, {"Mod", 32, fill}, {"Min", 40, cut}, {"Max", 300, raise}, {"Max", 4000, raise}, {"Min", 500, cut}} {
		for _, rows := range []int{20, 37, 38, 70, 310} {
			t.Run(fmt.Sprint(c.op, c.number, "/", rows), func(t *testing.T) {
				m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{
					Outputs:      []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
					Initializers: []onnx.Initializer{{Name: "w", Tensor: kernel}, {Name: "k", Tensor: elements([]int64{c.number}, 1)}, {Name: "two", Tensor: elements([]int64{2}, 1)}, {Name: "zeros", Tensor: elements([]int64{0, 0, 0, 0, 0}, 5)}},
					Nodes:        []onnx.Node{node("Conv", []string{"x0", "w"}, "c"), node("Shape", []string{"c"}, "s"), node("Gather", []string{"s", "two"}, "n")}}}
				if c.op == "Mod" {
					m.Graph.Nodes = append(m.Graph.Nodes, node("Neg", []string{"n"}, "negative"), node("Mod", []string{"negative", "k"}, "more"))
				} else {
					m.Graph.Nodes = append(m.Graph.Nodes, node(c.op, []string{"n", "k"}, "to"), node("Sub", []string{"to", "n"}, "more"))
				}
				pads := node("Concat", []string{"zeros", "more"}, "pads")
				pads.Attrs = map[string]any{"axis": 0}
				m.Graph.Nodes = append(m.Graph.Nodes, pads, node("Pad", []string{"c", "pads"}, "y"))
				x := tensor.New(tensor.Float32, 1, 1, rows)
				for i := range rows {
					tensor.Values[float32](x)[i] = float32(i + 1)
				}
				want := tensor.New(tensor.Float32, 1, 1, c.size(rows-6, int(c.number)))
				copy(tensor.Values[float32](want), tensor.Values[float32](x)[:rows-6])
				runONNX(t, m, []*tensor.Tensor{x}, func(int) []onnx.Dim { return []onnx.Dim{{Symbol: "batch"}, {Size: 1}, {Symbol: "rows"}} }, want)
			})
		}
	}
}
