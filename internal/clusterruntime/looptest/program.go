package looptest

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

// Program is an expression with branches and loops.
type Program struct{ e expression }

// Draw draws a program whose branches and loops are nested at most depth deep.
func Draw(t *rapid.T, depth int) Program { return Program{draw(t, depth, 0)} }

// Result is the result of the program.
func (p Program) Result() float32 { return p.e.eval(nil) }

// Build adds the program to a graph and returns its result.
func (p Program) Build(g *Graph) graph.Output {
	return p.e.build(g, scope{pivot: g.Node("NoOp", nil, 0)})
}

// scope is a branch, the body of a loop, or the outermost level.
type scope struct {
	pivot  *graph.Node           // node before constants, as in tf.cond: they run if the branch is taken
	values []func() graph.Output // of the loops around it
}

// within returns the scope of a branch or loop, into which enter brings each outside value once.
func (s scope) within(pivot *graph.Node, enter func(graph.Output) graph.Output) scope {
	inner := scope{pivot: pivot}
	for _, value := range s.values {
		var led graph.Output
		inner.values = append(inner.values, func() graph.Output {
			if !led.Valid() {
				led = enter(value())
			}
			return led
		})
	}
	return inner
}

type expression interface {
	eval(values []float32) float32
	build(g *Graph, at scope) graph.Output
}

type (
	number float32
	value  int // of an enclosing loop: its counter or total
	sum    struct{ a, b expression }
	choice struct {
		limit      float32 // yes is taken if of < limit
		of         expression
		yes, no    expression
		controlled bool // a control edge leads from the condition to the result
	}
	loop struct {
		rounds   int
		start    expression
		step     expression // added in each iteration
		parallel int
	}
)

func (n number) eval([]float32) float32 { return float32(n) }
func (n number) build(g *Graph, at scope) graph.Output {
	v := g.Value(float32(n))
	v.Node.Control = append(v.Node.Control, at.pivot)
	return v
}

func (v value) eval(values []float32) float32         { return values[v] }
func (v value) build(_ *Graph, at scope) graph.Output { return at.values[v]() }

func (s sum) eval(values []float32) float32 { return s.a.eval(values) + s.b.eval(values) }
func (s sum) build(g *Graph, at scope) graph.Output {
	return g.Op("AddV2", s.a.build(g, at), s.b.build(g, at))
}

func (c choice) eval(values []float32) float32 {
	if c.of.eval(values) < c.limit {
		return c.yes.eval(values)
	}
	return c.no.eval(values)
}

func (c choice) build(g *Graph, at scope) graph.Output {
	pred := g.Op("Less", c.of.build(g, at), number(c.limit).build(g, at))
	split := g.Node("Switch", nil, 2, pred, pred)
	var branches []graph.Output
	for i, e := range []expression{c.no, c.yes} {
		pivot := g.Node("Identity", graph.Attrs{"T": tensor.Bool}, 1, split.Out(i))
		inside := at.within(pivot, func(v graph.Output) graph.Output { return g.Node("Switch", nil, 2, v, pred).Out(i) })
		branches = append(branches, e.build(g, inside))
	}
	out := g.Node("Merge", nil, 2, branches...)
	if c.controlled {
		out.Control = append(out.Control, pred.Node)
	}
	return out.Out(0)
}

func (l loop) eval(values []float32) float32 {
	total := l.start.eval(values)
	for i := range l.rounds {
		total += l.step.eval(append(values[:len(values):len(values)], float32(i), total))
	}
	return total
}

func (l loop) build(g *Graph, at scope) graph.Output {
	attrs := graph.Attrs{"frame_name": fmt.Appendf(nil, "loop%d", g.names), "parallel_iterations": int64(l.parallel)}
	same := graph.Attrs{"frame_name": attrs["frame_name"], "is_constant": true, "parallel_iterations": int64(l.parallel)}
	limit := g.Node("Enter", same, 1, number(l.rounds).build(g, at)).Out(0)
	var merges, switches []*graph.Node
	for _, start := range []expression{number(0), l.start} {
		enter := g.Node("Enter", attrs, 1, start.build(g, at)).Out(0)
		merges = append(merges, g.Node("Merge", nil, 2, enter))
	}
	less := g.Op("Less", merges[0].Out(0), limit)
	cond := g.Node("LoopCond", nil, 1, less).Out(0)
	for _, m := range merges {
		switches = append(switches, g.Node("Switch", nil, 2, m.Out(0), cond))
	}
	pivot := g.Node("Identity", graph.Attrs{"T": tensor.Float32}, 1, switches[0].Out(1))
	inside := at.within(pivot, func(v graph.Output) graph.Output { return g.Node("Enter", same, 1, v).Out(0) })
	for _, v := range []graph.Output{pivot.Out(0), switches[1].Out(1)} {
		inside.values = append(inside.values, func() graph.Output { return v })
	}
	count := g.Op("AddV2", pivot.Out(0), number(1).build(g, inside))
	total := g.Op("AddV2", switches[1].Out(1), l.step.build(g, inside))
	for i, v := range []graph.Output{count, total} {
		merges[i].Inputs = append(merges[i].Inputs, g.Node("NextIteration", nil, 1, v).Out(0))
	}
	return g.Node("Exit", nil, 1, switches[1].Out(0)).Out(0)
}

// draw draws an expression in a scope with that many values.
func draw(t *rapid.T, depth, values int) expression {
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	if depth == 0 {
		kind = rapid.SampledFrom([]int{0, 4}).Draw(t, "leaf")
	}
	sub := func(more int) expression { return draw(t, depth-1, values+more) }
	switch {
	case kind == 1:
		return sum{sub(0), sub(0)}
	case kind == 2:
		return choice{float32(rapid.IntRange(-2, 2).Draw(t, "limit")), sub(0), sub(0), sub(0), rapid.Bool().Draw(t, "control")}
	case kind == 3:
		return loop{rapid.IntRange(0, 5).Draw(t, "rounds"), sub(0), sub(2), rapid.SampledFrom([]int{1, 2, 10}).Draw(t, "parallel")}
	case kind == 4 && values > 0:
		return value(rapid.IntRange(0, values-1).Draw(t, "value"))
	}
	return number(rapid.IntRange(-3, 3).Draw(t, "number"))
}
