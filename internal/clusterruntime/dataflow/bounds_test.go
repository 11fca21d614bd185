package dataflow

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/looptest"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// endless is a loop that counts from 0 to limit; merge and exit are its Merge and Exit.
func endless(frame string, parallel int, limit float32) (g *looptest.Graph, merge, exit *graph.Node) {
	g = looptest.New()
	attrs := graph.Attrs{"frame_name": []byte(frame), "parallel_iterations": int64(parallel)}
	merge = g.Node("Merge", nil, 2, g.Node("Enter", attrs, 1, g.Value(0)).Out(0))
	constant := graph.Attrs{"frame_name": []byte(frame), "is_constant": true}
	less := g.Op("Less", merge.Out(0), g.Node("Enter", constant, 1, g.Value(limit)).Out(0))
	split := g.Node("Switch", nil, 2, merge.Out(0), g.Node("LoopCond", nil, 1, less).Out(0))
	next := g.Op("AddV2", split.Out(1), g.Node("Enter", constant, 1, g.Value(1)).Out(0))
	merge.Inputs = append(merge.Inputs, g.Node("NextIteration", nil, 1, next).Out(0))
	exit = g.Node("Exit", nil, 1, split.Out(0))
	g.Send("out", exit.Out(0))
	return g, merge, exit
}

// TestExitInEachIteration: otherwise nodes after the loop would run with missing inputs.
func TestExitInEachIteration(t *testing.T) {
	g, merge, exit := endless("f", 1, 3)
	exit.Inputs[0] = merge.Out(0)
	p, err := Compile(g.Graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = p.Run(t.Context(), Step{Env: &eager.Env{}, Rendezvous: box{rendezvous.New()}, Parallel: 1})
	if err == nil || !strings.Contains(err.Error(), "(Exit): it left the loop \"f\" in two iterations") {
		t.Errorf("got %v", err)
	}
}

// TestNestedLoopsShareTheirRoom: parallel_iterations of nested loops multiply.
func TestNestedLoopsShareTheirRoom(t *testing.T) {
	p := &Program{frames: []frameShape{{parent: -1, parallel: 1}}}
	const depth = 5
	for i := range depth {
		p.frames = append(p.frames, frameShape{parent: int32(i), parallel: maxParallel, pending: make([]int32, 50), inputs: 50})
	}
	p.boundIterations()
	slots, around := 0, 1
	for _, f := range p.frames[1:] {
		around *= f.parallel
		slots += around * 100
		if f.parallel < 1 {
			t.Errorf("got %d iterations at the same time", f.parallel)
		}
	}
	if slots > maxSlots || p.frames[1].parallel != maxParallel {
		t.Errorf("got %d slots, at most %d are possible; the outermost loop has %d iterations", slots, maxSlots, p.frames[1].parallel)
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		build func(g *looptest.Graph)
		text  string
	}{
		"NextIteration outside": {func(g *looptest.Graph) { g.Node("NextIteration", nil, 1, g.Value(1)) }, "is in no loop"},
		"no such output": {func(g *looptest.Graph) {
			g.Op("Neg", g.Node("Const", graph.Attrs{"value": tensor.Scalar(float32(1))}, 4).Out(3))
		}, "has 1 outputs"},
	} {
		g := looptest.New()
		c.build(g)
		if _, err := Compile(g.Graph, nil); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	g := looptest.New()
	for i := range maxReceives + 1 {
		g.Node("_Recv", graph.Attrs{"tensor_type": tensor.Float32, "tensor_name": fmt.Append(nil, i)}, 1)
	}
	if _, err := Compile(g.Graph, nil); !errors.Is(err, eager.ErrLimit) {
		t.Errorf("too many receives: got %v", err)
	}
}
