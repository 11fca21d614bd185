package partition

import (
	"errors"
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// TestManyUpdates: a graph with very many nodes after very many updates is refused before that takes long.
func TestManyUpdates(t *testing.T) {
	const variables = 20000
	g := graph.New()
	var last *graph.Node
	for i := range variables {
		v := add(g, fmt.Sprint("v", i), "VariableV2", "", nil)
		read := add(g, fmt.Sprint("read", i), "Identity", "", nil, v.Out(0))
		update := add(g, fmt.Sprint("update", i), "AssignAdd", "", nil, v.Out(0), read.Out(0))
		if last != nil {
			update.Control = []*graph.Node{last}
		}
		last = update
	}
	if _, err := updatesBefore(g.Nodes()); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}
