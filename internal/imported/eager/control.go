package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// controlOps call functions of Env: branches, loops, and calls on given devices. A loop ends with the context of its run.
var controlOps = map[*ops.Def]maker{
	ops.If:             branch,
	ops.StatelessIf:    branch,
	ops.Case:           choice,
	ops.StatelessCase:  choice,
	ops.While:          while,
	ops.StatelessWhile: while,
	ops.RemoteCall:     remoteCall,
}

// Called returns the names of the functions that a node calls.
func Called(n *graph.Node) []string {
	d := ops.Find(n.Op)
	if d == nil || controlOps[d] == nil && d.State != ops.Queues {
		return nil
	}
	var names []string
	for _, attr := range []string{"cond", "body", "then_branch", "else_branch", "branches", "f", "predicate", "key_func", "reduce_func", "window_size_func"} {
		switch f := n.Attrs[attr].(type) {
		case graph.Func:
			names = append(names, f.Name)
		case []graph.Func:
			for _, f := range f {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// function returns the name of the function in an attribute.
func (s *site) function(attr string) string {
	f, ok := s.node.Attrs[attr].(graph.Func)
	if !ok {
		s.fail("attribute %s: expected a function, got %T", attr, s.node.Attrs[attr])
	}
	return f.Name
}

// frame allocates memory for calls of a function.
func (c call) frame(name string, args, results int) (*frame, error) {
	if c.env == nil || c.env.Functions[name] == nil {
		return nil, fmt.Errorf("function %q: there is none", name)
	}
	r, err := c.env.Functions[name].frame(args, results)
	if err != nil {
		return nil, fmt.Errorf("function %q: %w", name, err)
	}
	return r, nil
}

// branch runs one of two functions on all inputs except the first.
func branch(s *site) (kernel, error) {
	then, other := s.function("then_branch"), s.function("else_branch")
	s.outputs = len(list[tensor.DType](s, "Tout"))
	return func(c call) error {
		if len(c.in) < 1 || c.in[0].T == nil {
			return fmt.Errorf("expected a condition")
		}
		ok, err := holds(c.t(0))
		if err != nil {
			return err
		}
		name := other
		if ok {
			name = then
		}
		return c.branch(name)
	}, nil
}

// choice runs the function with that index, or the last one if there is none.
func choice(s *site) (kernel, error) {
	branches := list[graph.Func](s, "branches")
	if len(branches) == 0 {
		s.fail("attribute branches: expected a function")
	}
	s.outputs = len(list[tensor.DType](s, "Tout"))
	return func(c call) error {
		if len(c.in) < 1 || c.in[0].T == nil {
			return fmt.Errorf("expected the number of a branch")
		}
		i, err := integer("branch_index", c.t(0))
		if err != nil {
			return err
		}
		if i < 0 || i >= len(branches) {
			i = len(branches) - 1
		}
		return c.branch(branches[i].Name)
	}, nil
}

func (c call) branch(name string) error {
	r, err := c.frame(name, len(c.in)-1, len(c.out))
	if err != nil {
		return err
	}
	return r.call(c.ctx, c.env, c.in[1:], c.out)
}

// while runs a body on its own results while a condition is true for them.
func while(s *site) (kernel, error) {
	cond, body := s.function("cond"), s.function("body")
	s.outputs = len(list[tensor.DType](s, "T"))
	return func(c call) error {
		n := len(c.in)
		if n != len(c.out) {
			return fmt.Errorf("expected %d inputs, got %d", len(c.out), n)
		}
		test, err := c.frame(cond, n, 1)
		if err != nil {
			return err
		}
		step, err := c.frame(body, n, n)
		if err != nil {
			return err
		}
		copy(c.out, c.in)
		start := c.env.mark()
		for {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			var more [1]Value
			if err := test.call(c.ctx, c.env, c.out, more[:]); err != nil {
				return err
			}
			if more[0].T == nil {
				return fmt.Errorf("the condition is not a tensor")
			}
			if ok, err := holds(more[0].T); err != nil || !ok {
				return err
			}
			if err := step.call(c.ctx, c.env, c.out, c.out); err != nil {
				return err
			}
			c.env.drop(start, c.out)
		}
	}, nil
}

// holds converts a condition as TensorFlow does: true is a nonzero number, a nonempty string, or another tensor with elements.
func holds(t *tensor.Tensor) (bool, error) {
	switch {
	case len(t.Shape) > 0:
		return t.Len() > 0, nil
	case t.DType == tensor.String:
		return len(t.Strings[0]) > 0, nil
	case t.DType == tensor.Bool:
		return tensor.Values[bool](t)[0], nil
	case t.DType.Size() > 0:
		return t.Float(0) != 0, nil
	}
	return false, fmt.Errorf("condition of type %v: %w", t.DType, ErrUnsupported)
}
