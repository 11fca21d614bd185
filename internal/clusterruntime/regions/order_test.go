package regions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/dataflow"
	"github.com/goestimator/goestimator/internal/clusterruntime/regions"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// TestControlEdgesMakeNoCycle: two sets of nodes with control edges between them in both directions are one region.
func TestControlEdgesMakeNoCycle(t *testing.T) {
	b := newText()
	x, y := b.recv("x"), b.recv("y")
	one, product := b.layers(b.op("AddV2", x, y)), b.op("Mul", x, y)
	product.Node.Control = []*graph.Node{one.Node}
	other, negative := b.layers(product), b.op("Neg", one)
	negative.Node.Control = []*graph.Node{other.Node}
	b.send("one", b.layers(negative))
	b.send("other", other)
	p, set := program(t, b, true)
	if set.Len() != 1 {
		t.Errorf("got %d regions, expected 1", set.Len())
	}
	for range 4 {
		if _, err := run(p, map[string]rendezvous.Item{"x": {Tensor: matrix(4, 1)}, "y": {Tensor: matrix(4, 2)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
}

// TestManySetsOfWaits: if it takes too long to find what nodes wait for, nothing is fused.
func TestManySetsOfWaits(t *testing.T) {
	testkit.NotConcurrent(t)
	b := newText()
	const waits = 1000
	var ends []graph.Output
	all := []graph.Output{}
	for i := range waits {
		all = append(all, b.recv(fmt.Sprint("x", i)))
	}
	for i := range 60 { // sets of nearly all
		in := append(append([]graph.Output{}, all[:i]...), all[i+1:]...)
		ends = append(ends, b.Op("AddN", "most", all[0].Type(), graph.Attrs{"T": tensor.Float32, "N": int64(len(in))}, in...))
	}
	for i := range 4000 { // the same union again and again
		in := ends[i%30 : i%30+30]
		b.Op("AddN", "sum", all[0].Type(), graph.Attrs{"T": tensor.Float32, "N": int64(len(in))}, in...)
	}
	b.send("out", b.layers(all[0]))
	_, set, err := regions.Fuse(b.Graph, dataflow.Waits)
	if err != nil {
		t.Fatal(err)
	}
	if set.Len() != 0 {
		t.Errorf("got %d regions, expected none", set.Len())
	}
}

// TestErrorsOfRegions: an error in a program names the node, as op by op, and the next step works as before.
func TestErrorsOfRegions(t *testing.T) {
	integers := graph.Type{DType: tensor.Int32, Shape: graph.Shape{UnknownRank: true}}
	b := newText()
	recv := func(edge string) graph.Output {
		return b.Op("_Recv", edge, integers, graph.Attrs{"tensor_name": []byte(edge), "tensor_type": tensor.Int32})
	}
	v, by := recv("v"), recv("by")
	of := graph.Attrs{"T": tensor.Int32}
	for range 6 {
		v = b.Op("AddV2", "more", integers, of, v, by)
	}
	v = b.Op("FloorDiv", "quotient", integers, of, v, by)
	for range 6 {
		v = b.Op("AddV2", "after", integers, of, v, by)
	}
	b.send("out", v)
	p, set := program(t, b, true)
	if set.Len() != 1 {
		t.Fatalf("got %d regions, expected 1", set.Len())
	}
	for i := range 12 {
		n := int32(2)
		if i > 2 && i%3 == 0 {
			n = 0
		}
		in := map[string]rendezvous.Item{"v": {Tensor: pair(7, 9)}, "by": {Tensor: pair(2, n)}}
		table, err := run(p, in)
		if n == 0 {
			if err == nil || !strings.Contains(err.Error(), `"quotient"`) {
				t.Errorf("run %d: got %v, expected an error that names the node", i, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		item, err := table.Recv(t.Context(), "out")
		if err != nil || item.Tensor.Float(0) != (7+12)/2+12 || item.Tensor.Float(1) != (9+12)/2+12 {
			t.Errorf("run %d: got %v %v", i, item.Tensor, err)
		}
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
}

func pair(a, b int32) *tensor.Tensor {
	t := tensor.New(tensor.Int32, 2)
	copy(tensor.Values[int32](t), []int32{a, b})
	return t
}
