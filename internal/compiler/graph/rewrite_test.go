package graph

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

func chain() (*Graph, []*Node) {
	b := NewBuilder(New())
	x := b.Placeholder("x", Type{tensor.Float32, BatchOf(3)})
	y := b.Op("Relu", "y", x.Type(), Attrs{"T": tensor.Float32}, x)
	z := b.Op("Tanh", "z", x.Type(), Attrs{"T": tensor.Float32}, x)
	w := b.Node("NoOp", "w", nil, nil)
	w.Control = []*Node{z.Node}
	return b.Graph, []*Node{x.Node, y.Node, z.Node, w}
}

func names(nodes []*Node) (out []string) {
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}

func TestPruneKeepsWhatIsNeeded(t *testing.T) {
	g, nodes := chain()
	p := Prune(g, nodes[3])
	if got := names(p.Nodes()); !slices.Equal(got, []string{"x", "z", "w"}) {
		t.Fatalf("pruned to %v, want x z w", got)
	}
	if p.Node("w").Control[0] != p.Node("z") || p.Node("z") == nodes[2] {
		t.Error("control edges must lead to the copies")
	}
	p.Node("z").Attrs["T"] = tensor.Float64
	if nodes[2].Attrs["T"] != tensor.Float32 {
		t.Error("changing the copy's attributes changed the original's")
	}
}

func TestSortAndValidate(t *testing.T) {
	g, nodes := chain()
	if err := Validate(g); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(g.nodes)
	sorted, err := Sort(g)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(sorted); !slices.Equal(got, []string{"x", "z", "w", "y"}) {
		t.Fatalf("sorted to %v", got)
	}
	nodes[0].Control = []*Node{nodes[3]}
	if _, err := Sort(g); !errors.Is(err, ErrCycle) || !strings.Contains(err.Error(), "z") {
		t.Fatalf("got %v, want ErrCycle naming its nodes", err)
	}
	nodes[3].Op = "NextIteration"
	if _, err := Sort(g); err != nil {
		t.Fatalf("a cycle through NextIteration: %v", err)
	}
}

func TestValidateFindsViolations(t *testing.T) {
	g, nodes := chain()
	nodes[1].Inputs[0].Index = 3
	nodes[2].Attrs["T"] = tensor.Float64 // Tanh is not in the table; Relu is
	nodes[1].Attrs["T"] = tensor.Float64
	other := &Node{Name: "other", Op: "NoOp"}
	nodes[3].Control = []*Node{other}
	err := Validate(g)
	for _, want := range []string{"node y (Relu): input 0 is x:3", "attribute T is float64", "node w (NoOp): a control input"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

func TestUniqueNameIsFast(t *testing.T) {
	b := NewBuilder(New())
	for range 20000 {
		b.Node("NoOp", "n", nil, nil)
	}
	if err := b.Err(); err != nil || b.Graph.Node("n_19999") == nil {
		t.Fatalf("expected nodes n ... n_19999: %v", err)
	}
}
