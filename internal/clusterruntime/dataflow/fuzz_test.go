package dataflow

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/looptest"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nonsense draws a graph with arbitrary control flow. Edges lead anywhere, even backwards.
func nonsense(t *rapid.T) *graph.Graph {
	ops := []string{"Const", "Const", "Identity", "AddV2", "Less", "NoOp", "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "ControlTrigger", "_Send", "_Recv"}
	g := graph.New()
	count := rapid.IntRange(1, 24).Draw(t, "nodes")
	for i := range count {
		op := rapid.SampledFrom(ops).Draw(t, "op")
		dtype := rapid.SampledFrom([]tensor.DType{tensor.Float32, tensor.Float32, tensor.Bool}).Draw(t, "type")
		value := tensor.New(dtype)
		if dtype == tensor.Bool && rapid.Bool().Draw(t, "value") {
			value.Bytes[0] = 1
		}
		n := &graph.Node{Name: fmt.Sprint("n", i), Op: op, Attrs: graph.Attrs{"T": tensor.Float32, "dtype": dtype, "value": value, "tensor_type": dtype,
			"frame_name": fmt.Append(nil, rapid.IntRange(0, 2).Draw(t, "frame")), "is_constant": rapid.Bool().Draw(t, "constant"),
			"parallel_iterations": rapid.SampledFrom([]int64{-1, 0, 1, 3, 1 << 40}).Draw(t, "parallel"), "tensor_name": []byte("e")}}
		for range rapid.IntRange(0, 2).Draw(t, "outputs") {
			n.Outputs = append(n.Outputs, graph.TypeOf(dtype))
		}
		if err := g.Add(n); err != nil {
			t.Fatal(err)
		}
	}
	inputs := map[string]int{"Identity": 1, "AddV2": 2, "Less": 2, "Switch": 2, "Merge": 2, "Enter": 1, "Exit": 1, "NextIteration": 1, "LoopCond": 1, "_Send": 1}
	draw := func(what string) *graph.Node {
		return g.Nodes()[rapid.IntRange(0, count-1).Draw(t, what)]
	}
	for _, n := range g.Nodes() {
		for range inputs[n.Op] {
			n.Inputs = append(n.Inputs, draw("input").Out(rapid.SampledFrom([]int{0, 0, 0, 1, 5}).Draw(t, "index")))
		}
		for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "controls") {
			n.Control = append(n.Control, draw("control"))
		}
	}
	return g
}

// mutated draws a valid program, and then redirects some of its edges.
func mutated(t *rapid.T) *graph.Graph {
	g := looptest.New()
	g.Send("out", looptest.Draw(t, 3).Build(g))
	nodes := g.Nodes()
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		n := rapid.SampledFrom(nodes).Draw(t, "node")
		other := rapid.SampledFrom(nodes).Draw(t, "other")
		switch change := rapid.IntRange(0, 3).Draw(t, "change"); {
		case change == 0:
			n.Control = append(n.Control, other)
		case change == 1 && len(n.Inputs) == 1:
			n.Op = rapid.SampledFrom([]string{"Identity", "Enter", "Exit", "NextIteration", "Merge"}).Draw(t, "op")
		case len(n.Inputs) > 0 && len(other.Outputs) > 0:
			n.Inputs[rapid.IntRange(0, len(n.Inputs)-1).Draw(t, "input")] = other.Out(rapid.IntRange(0, len(other.Outputs)-1).Draw(t, "index"))
		}
	}
	return g.Graph
}

// FuzzRun: any graph is either refused, or its run ends, at the latest with its context, and without a panic.
func FuzzRun(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(runsNonsense))
}

func TestNonsenseEnds(t *testing.T) { rapid.Check(t, runsNonsense) }

func runsNonsense(t *rapid.T) {
	g := rapid.OneOf(rapid.Custom(nonsense), rapid.Custom(mutated)).Draw(t, "graph")
	p, err := Compile(g, nil)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond) // for endless loops
	defer cancel()
	_ = p.Run(ctx, Step{Env: &eager.Env{}, Rendezvous: box{rendezvous.New()}, Parallel: 4})
}
