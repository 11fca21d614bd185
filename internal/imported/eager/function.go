package eager

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Function is a graph that nodes call: a branch, or the condition or body of a loop. It is safe for concurrent use.
type Function struct {
	given []givenValue // the same in all calls
	steps []functionStep
	args  []int // slots
	outs  []int
	size  int // slots
	width int // most inputs and outputs of a step

	graph *graph.Graph  // it is made of, for descriptions
	named []*graph.Node // args
	end   *graph.Node
}

type givenValue struct {
	at int
	v  Value
}

// functionStep is a node: its kernel and the slots of its values.
type functionStep struct {
	kernel  Kernel
	in, out []int
}

// NewFunction makes a Function of all nodes of g: args are the nodes that stand for what it is called with, and its results
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
	return f, nil
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
	s := functionStep{kernel: k}
	for _, in := range n.Inputs {
		s.in = append(s.in, slot(in))
	}
	for i := range n.Outputs {
		s.out = append(s.out, slot(n.Out(i)))
	}
	f.width = max(f.width, len(s.in)+len(s.out))
	f.steps = append(f.steps, s)
	return nil
}

// frame is the room of a Function for calls that follow each other.
type frame struct {
	f      *Function
	values []Value
	room   []Value
}

// frame checks that the function takes and returns so many values.
func (f *Function) frame(args, results int) (*frame, error) {
	if len(f.args) != args || len(f.outs) != results {
		return nil, fmt.Errorf("a function of %d arguments and %d results: expected %d and %d", len(f.args), len(f.outs), args, results)
	}
	r := &frame{f: f, values: make([]Value, f.size), room: make([]Value, f.width)}
	for _, g := range f.given {
		r.values[g.at] = g.v
	}
	return r, nil
}

// call runs the function. It ends with ctx, between nodes. out may be in.
func (r *frame) call(ctx context.Context, env *Env, in, out []Value) error {
	for i, at := range r.f.args {
		r.values[at] = in[i]
	}
	for i := range r.f.steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &r.f.steps[i]
		from, to := r.room[:len(s.in)], r.room[len(s.in):len(s.in)+len(s.out)]
		for k, at := range s.in {
			from[k] = r.values[at]
		}
		clear(to)
		if err := s.kernel(ctx, env, from, to); err != nil {
			return err
		}
		for k, at := range s.out {
			r.values[at] = to[k]
		}
	}
	for i, at := range r.f.outs {
		out[i] = r.values[at]
	}
	return nil
}
