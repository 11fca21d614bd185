package eager

import (
	"context"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Function is a graph that nodes call: a branch, or the condition or body of a loop. It is safe for concurrent use.
type Function struct {
	given []givenValue // the same in all calls
	steps []Step
	args  []int // slots
	outs  []int
	ends  []int // slots of arguments and results
	size  int   // slots

	graph *graph.Graph  // it is made of, for descriptions
	named []*graph.Node // args
	end   *graph.Node
}

type givenValue struct {
	at int
	v  Value
}

// NewFunction makes a Function of all nodes of g: args are the nodes that stand for its arguments, and its results
// are the inputs of node result.
func NewFunction(g *graph.Graph, args []string, result string) (*Function, error) {
	f := &Function{graph: g}
	sorted, err := graph.Sort(g)
	if err != nil {
		return nil, err
	}
	slots := map[graph.Output]int{}
	slot := func(o graph.Output) int {
		at, ok := slots[o]
		if !ok {
			at = f.size
			slots[o] = at
			f.size++
		}
		return at
	}
	fed := map[*graph.Node]bool{}
	for _, name := range args {
		n := g.Node(name)
		if n == nil {
			return nil, fmt.Errorf("the function has no argument %q", name)
		}
		fed[n] = true
		f.args = append(f.args, slot(n.Out(0)))
		f.named = append(f.named, n)
	}
	for _, n := range sorted {
		if fed[n] {
			continue
		}
		if err := f.add(n, slot); err != nil {
			return nil, err
		}
	}
	if f.end = g.Node(result); f.end == nil {
		return nil, fmt.Errorf("the function has no node %q", result)
	}
	for _, o := range f.end.Inputs {
		f.outs = append(f.outs, slot(o))
	}
	f.findEnds()
	return f, nil
}

// findEnds finds the slots that each step needs last.
func (f *Function) findEnds() {
	needed := make([]bool, f.size)
	for _, g := range f.given {
		needed[g.at] = true
	}
	for _, at := range slices.Concat(f.args, f.outs) {
		if !needed[at] {
			f.ends = append(f.ends, at)
		}
	}
	for _, at := range f.outs {
		needed[at] = true
	}
	for i := len(f.steps) - 1; i >= 0; i-- {
		f.steps[i].Ends(needed)
	}
}

func (f *Function) add(n *graph.Node, slot func(graph.Output) int) error {
	if t, ok := n.Attrs["value"].(*tensor.Tensor); ok && n.Op == "Const" {
		f.given = append(f.given, givenValue{slot(n.Out(0)), Value{T: t}})
		return nil
	}
	k, err := Prepare(n)
	if err != nil {
		return err
	}
	s := Step{Kernel: k, Keeps: Keeps(n)}
	for _, in := range n.Inputs {
		s.In = append(s.In, slot(in))
	}
	for i := range n.Outputs {
		s.Out = append(s.Out, slot(n.Out(i)))
	}
	f.steps = append(f.steps, s)
	return nil
}

// frame is the memory of a Function for consecutive calls.
type frame struct {
	f     *Function
	slots *Slots
}

// frame checks that the function has that many arguments and results.
func (f *Function) frame(args, results int) (*frame, error) {
	if len(f.args) != args || len(f.outs) != results {
		return nil, fmt.Errorf("a function of %d arguments and %d results: expected %d and %d", len(f.args), len(f.outs), args, results)
	}
	r := &frame{f: f, slots: NewSlots(f.size)}
	for _, g := range f.given {
		r.slots.Values[g.at] = g.v
	}
	return r, nil
}

// call runs the function. It stops when ctx ends, between nodes. out may be in. Only the results stay paid for.
func (r *frame) call(ctx context.Context, env *Env, in, out []Value) error {
	values := r.slots.Values
	for i, at := range r.f.args {
		values[at] = in[i]
	}
	r.slots.Begin(env.payer())
	for i := range r.f.steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.slots.Run(ctx, env, &r.f.steps[i]); err != nil {
			return err
		}
	}
	for i, at := range r.f.outs {
		out[i] = values[at]
	}
	for _, at := range r.f.ends {
		values[at] = Value{}
	}
	return nil
}
