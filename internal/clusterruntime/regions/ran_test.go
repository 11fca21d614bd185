package regions_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/dataflow"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
)

// TestNodesOfRegionsAreSeen: the trace of a step has the nodes of regions instead of the regions, even if there is a program.
func TestNodesOfRegionsAreSeen(t *testing.T) {
	b := newText()
	b.send("out", b.layers(b.recv("x")))
	p, set := program(t, b, true)
	if set.Len() == 0 {
		t.Fatal("there is no region")
	}
	in := map[string]rendezvous.Item{"x": {Tensor: matrix(4, 1)}}
	for range 3 {
		if _, err := run(p, in); err != nil {
			t.Fatal(err)
		}
	}
	table := rendezvous.New()
	if err := table.Send("x", in["x"]); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []string
	env := &eager.Env{Ran: func(n *graph.Node, began time.Time, _ []eager.Value) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, n.Op)
		if began.IsZero() {
			t.Errorf("node %q has no time", n.Name)
		}
	}}
	if err := p.Run(t.Context(), dataflow.Step{Env: env, Rendezvous: box{table}, Parallel: 2}); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(seen, "MatMul") || !slices.Contains(seen, "_Send") || slices.Contains(seen, "_Region") {
		t.Errorf("got %q", seen)
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
}
