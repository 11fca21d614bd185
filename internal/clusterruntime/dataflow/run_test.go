package dataflow

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

// box is a Rendezvous within a test.
type box struct{ *rendezvous.Table }

func (b box) Send(key rendezvous.Key, item rendezvous.Item) error {
	return b.Table.Send(key.String(), item)
}
func (b box) Recv(ctx context.Context, key rendezvous.Key) (rendezvous.Item, error) {
	return b.Table.Recv(ctx, key.String())
}

// text makes graphs of float32 scalars.
type text struct {
	*graph.Graph
	names int
}

func newText() *text { return &text{Graph: graph.New()} }

func (g *text) node(op string, attrs graph.Attrs, outputs int, in ...graph.Output) *graph.Node {
	g.names++
	n := &graph.Node{Name: fmt.Sprintf("%s_%d", strings.TrimPrefix(op, "_"), g.names), Op: op, Attrs: attrs, Inputs: in}
	for range outputs {
		n.Outputs = append(n.Outputs, graph.TypeOf(tensor.Float32))
	}
	if err := g.Add(n); err != nil {
		panic(err)
	}
	return n
}

func (g *text) op(op string, in ...graph.Output) graph.Output {
	return g.node(op, graph.Attrs{"T": tensor.Float32}, 1, in...).Out(0)
}

func (g *text) value(v float32) graph.Output {
	return g.node("Const", graph.Attrs{"value": tensor.Scalar(v), "dtype": tensor.Float32}, 1).Out(0)
}

// follow makes the value come after a node, as tf.cond does: constants run when their branch is taken.
func follow(o graph.Output, after *graph.Node) graph.Output {
	o.Node.Control = append(o.Node.Control, after)
	return o
}

func (g *text) send(edge string, v graph.Output) {
	g.node("_Send", graph.Attrs{"tensor_name": []byte(edge)}, 0, v)
}

// where is a scope: what its constants follow.
type where struct{ pivot *graph.Node }

// expression is a program with a value, and what the value is.
type expression interface {
	build(g *text, at where) graph.Output
	eval() float32
}

type (
	number float32
	sum    struct{ a, b expression }
	choice struct {
		limit     float32 // takes yes where of < limit
		of        expression
		yes, no   expression
		sideboard bool // the result of a branch is also used by a control edge
	}
	loop struct {
		rounds   int
		start    expression
		step     expression // added in each round
		parallel int
	}
)

func (n number) eval() float32 { return float32(n) }
func (n number) build(g *text, at where) graph.Output {
	return follow(g.value(float32(n)), at.pivot)
}

func (s sum) eval() float32 { return s.a.eval() + s.b.eval() }
func (s sum) build(g *text, at where) graph.Output {
	return g.op("AddV2", s.a.build(g, at), s.b.build(g, at))
}

func (c choice) eval() float32 {
	if c.of.eval() < c.limit {
		return c.yes.eval()
	}
	return c.no.eval()
}

func (c choice) build(g *text, at where) graph.Output {
	pred := g.op("Less", c.of.build(g, at), number(c.limit).build(g, at))
	split := g.node("Switch", nil, 2, pred, pred)
	var branches []graph.Output
	for i, e := range []expression{c.no, c.yes} {
		pivot := g.node("Identity", graph.Attrs{"T": tensor.Bool}, 1, split.Out(i))
		branches = append(branches, e.build(g, where{pivot}))
	}
	out := g.node("Merge", nil, 2, branches...)
	if c.sideboard {
		out.Control = append(out.Control, pred.Node)
	}
	return out.Out(0)
}

func (l loop) eval() float32 { return l.start.eval() + float32(l.rounds)*l.step.eval() }

func (l loop) build(g *text, at where) graph.Output {
	attrs := graph.Attrs{"frame_name": fmt.Appendf(nil, "loop%d", g.names), "parallel_iterations": int64(l.parallel)}
	same := graph.Attrs{"frame_name": attrs["frame_name"], "is_constant": true}
	limit := g.node("Enter", same, 1, number(l.rounds).build(g, at)).Out(0)
	var merges, switches []*graph.Node
	for _, start := range []expression{number(0), l.start} {
		enter := g.node("Enter", attrs, 1, start.build(g, at)).Out(0)
		merges = append(merges, g.node("Merge", nil, 2, enter))
	}
	less := g.op("Less", merges[0].Out(0), limit)
	cond := g.node("LoopCond", nil, 1, less).Out(0)
	for _, m := range merges {
		switches = append(switches, g.node("Switch", nil, 2, m.Out(0), cond))
	}
	pivot := g.node("Identity", graph.Attrs{"T": tensor.Float32}, 1, switches[0].Out(1))
	inside := where{pivot}
	count := g.op("AddV2", pivot.Out(0), number(1).build(g, inside))
	total := g.op("AddV2", switches[1].Out(1), l.step.build(g, inside))
	for i, v := range []graph.Output{count, total} {
		merges[i].Inputs = append(merges[i].Inputs, g.node("NextIteration", nil, 1, v).Out(0))
	}
	return g.node("Exit", nil, 1, switches[1].Out(0)).Out(0)
}

// expressions draws a program of some depth.
func expressions(t *rapid.T, depth int) expression {
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if depth == 0 {
		kind = 0
	}
	sub := func() expression { return expressions(t, depth-1) }
	switch kind {
	case 1:
		return sum{sub(), sub()}
	case 2:
		return choice{float32(rapid.IntRange(-2, 2).Draw(t, "limit")), sub(), sub(), sub(), rapid.Bool().Draw(t, "control")}
	case 3:
		return loop{rapid.IntRange(0, 12).Draw(t, "rounds"), sub(), sub(), rapid.SampledFrom([]int{1, 2, 10}).Draw(t, "parallel")}
	}
	return number(rapid.IntRange(-3, 3).Draw(t, "number"))
}

type fatal interface {
	Fatal(args ...any)
}

// fetched runs a graph and returns what it sent.
func fetched(t fatal, g *text, edge string) rendezvous.Item {
	p, err := Compile(g.Graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := box{rendezvous.New()}
	if err := p.Run(context.Background(), Step{Env: &eager.Env{}, Rendezvous: b, Parallel: 2}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	item, err := b.Recv(ctx, rendezvous.Key{Edge: edge, Iteration: rendezvous.Outside})
	if err != nil {
		t.Fatal("nothing was sent:", err)
	}
	return item
}

func TestControlFlowGivesWhatTheProgramSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := expressions(t, 4)
		g := newText()
		root := g.node("NoOp", nil, 0)
		g.send("out", e.build(g, where{root}))
		item := fetched(t, g, "out")
		if want := e.eval(); item.Dead || float32(item.Tensor.Float(0)) != want {
			t.Fatalf("expected %v, got %+v", want, item)
		}
	})
}
