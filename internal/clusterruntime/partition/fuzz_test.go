package partition

import (
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

// FuzzDivide: any graph and request is refused, or all receives of the parts have their sends.
func FuzzDivide(f *testing.F) { f.Fuzz(rapid.MakeFuzz(dividesNonsense)) }

func TestDivideNonsense(t *testing.T) { rapid.Check(t, dividesNonsense) }

func dividesNonsense(t *rapid.T) {
	g := arbitrary(t)
	name := func(what string) string {
		return fmt.Sprintf("n%d%s", rapid.IntRange(0, 12).Draw(t, what), rapid.SampledFrom([]string{"", ":0", ":0", ":1", ":-1", ":"}).Draw(t, "output"))
	}
	r := Request{}
	for _, names := range []*[]string{&r.Feeds, &r.Fetches, &r.Targets} {
		for range rapid.IntRange(0, 2).Draw(t, "names") {
			*names = append(*names, name("name"))
		}
	}
	c := cluster()
	c.Soft = rapid.Bool().Draw(t, "soft")
	parts, err := Divide(g, r, c)
	if err != nil {
		return
	}
	sent := map[string]bool{}
	for _, p := range parts {
		for _, n := range p.Graph.Nodes() {
			if n.Op == "_Send" {
				sent[n.Str("tensor_name")] = true
			}
			for _, in := range n.Inputs {
				if p.Graph.Node(in.Node.Name) != in.Node {
					t.Fatalf("%s: %q takes a value of %q, which is elsewhere", p.Task, n.Name, in.Node.Name)
				}
			}
			for _, before := range n.Control {
				if p.Graph.Node(before.Name) != before {
					t.Fatalf("%s: %q waits for %q, which is elsewhere", p.Task, n.Name, before.Name)
				}
			}
		}
	}
	for _, p := range parts {
		for _, n := range p.Graph.Nodes() {
			if n.Op == "_Recv" && !n.Bool("client_terminated") && !sent[n.Str("tensor_name")] {
				t.Fatalf("%s: nobody sends %q", p.Task, n.Str("tensor_name"))
			}
		}
	}
}

// arbitrary draws a graph with random edges, devices and colocations.
func arbitrary(t *rapid.T) *graph.Graph {
	ops := []string{"Const", "Identity", "AddV2", "VariableV2", "Assign", "Switch", "Merge", "Enter", "Exit", "NextIteration", "VarHandleOp", "ReadVariableOp", "NoSuchOp"}
	devices := []string{"", "", "/job:ps", "/job:ps/task:0", "/job:ps/task:1", "/job:worker", "/gpu:0", "/job:nope", "nonsense"}
	types := []tensor.DType{tensor.Float32, tensor.Float32, tensor.Float32, tensor.Resource}
	g := graph.New()
	for i := range rapid.IntRange(1, 12).Draw(t, "nodes") {
		n := &graph.Node{Name: fmt.Sprint("n", i), Op: rapid.SampledFrom(ops).Draw(t, "op"), Device: rapid.SampledFrom(devices).Draw(t, "device"), Attrs: graph.Attrs{}}
		if rapid.Bool().Draw(t, "colocated") {
			n.Attrs["_class"] = [][]byte{fmt.Appendf(nil, "loc:@n%d", rapid.IntRange(0, 12).Draw(t, "with"))}
		}
		for range rapid.IntRange(0, 2).Draw(t, "outputs") {
			n.Outputs = append(n.Outputs, graph.TypeOf(rapid.SampledFrom(types).Draw(t, "type")))
		}
		if err := g.Add(n); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range g.Nodes() {
		for range rapid.IntRange(0, 2).Draw(t, "inputs") {
			from := rapid.SampledFrom(g.Nodes()).Draw(t, "input")
			if len(from.Outputs) > 0 {
				n.Inputs = append(n.Inputs, from.Out(rapid.IntRange(0, len(from.Outputs)-1).Draw(t, "index")))
			}
		}
		for range rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "controls") {
			n.Control = append(n.Control, rapid.SampledFrom(g.Nodes()).Draw(t, "control"))
		}
	}
	return g
}
