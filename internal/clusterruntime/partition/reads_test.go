package partition

import (
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// TestReadAgain: a node that runs after an update reads the variable then, like the Fill of SyncReplicasOptimizer, which waits for
// its other input; other nodes share one read.
func TestReadAgain(t *testing.T) {
	g := model()
	read := g.Node("w/read").Out(0)
	update := add(g, "update", "AssignAdd", "/job:ps/task:0", nil, g.Node("w").Out(0), read)
	dims := add(g, "dims", "Const", "/job:ps/task:0", nil)
	dims.Control = []*graph.Node{update}
	add(g, "before", "Neg", "/job:ps/task:0", nil, read)
	add(g, "after", "Mul", "/job:ps/task:0", nil, dims.Out(0), read)
	parts, err := Divide(g, Request{Fetches: []string{"before:0", "after:0"}}, cluster())
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, p := range parts {
		n := p.Graph.Node("after")
		if n == nil {
			continue
		}
		seen++
		again := n.Inputs[1].Node
		if c := again.Control; len(c) != 1 || c[0].Name != "dims" || again.Inputs[0].Node.Name != "w" {
			t.Errorf("after reads %v, which waits for %v", again.Name, c)
		}
		if b := p.Graph.Node("before").Inputs[0].Node; b.Name != "w/read" || p.Graph.Node("update").Inputs[1].Node != b {
			t.Errorf("before reads %v", b.Name)
		}
	}
	if seen != 1 {
		t.Errorf("the node is on %d tasks", seen)
	}
}
