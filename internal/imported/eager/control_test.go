package eager

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

var scalar = graph.Type{DType: tensor.Int64, Shape: graph.ShapeOf()}

type outputs = []graph.Output

// function makes a Function with that many numbers as arguments; build returns its results.
func function(t *testing.T, args int, build func(b *graph.Builder, in outputs) outputs) *Function {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	var in outputs
	var names []string
	for i := range args {
		names = append(names, string(rune('a'+i)))
		in = append(in, b.Placeholder(names[i], scalar))
	}
	out := build(b, in)
	n := b.Node("IdentityN", "result", make([]graph.Type, len(out)), graph.Attrs{"T": make([]tensor.DType, len(out))}, out...)
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	f, err := NewFunction(b.Graph, names, n.Name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// control is a session with functions: the sum of the numbers below n, and invalid ones.
func control(t *testing.T) session {
	s := newSession(t)
	truth := graph.Type{DType: tensor.Bool, Shape: graph.ShapeOf()}
	plus := func(b *graph.Builder, x, y graph.Output) graph.Output { return b.Op("AddV2", "sum", scalar, nil, x, y) }
	s.env.Functions = map[string]*Function{
		"less": function(t, 3, func(b *graph.Builder, in outputs) outputs {
			return outputs{b.Op("Less", "less", truth, nil, in[0], in[1])}
		}),
		"next": function(t, 3, func(b *graph.Builder, in outputs) outputs {
			return outputs{plus(b, in[0], b.Const("one", tensor.Scalar(int64(1)))), in[1], plus(b, in[2], in[0])}
		}),
		"same":   function(t, 3, func(_ *graph.Builder, in outputs) outputs { return in }),
		"always": function(t, 3, func(b *graph.Builder, _ outputs) outputs { return outputs{b.Const("yes", tensor.Scalar(true))} }),
		"add":    function(t, 2, func(b *graph.Builder, in outputs) outputs { return outputs{plus(b, in[0], in[1])} }),
		"first":  function(t, 2, func(_ *graph.Builder, in outputs) outputs { return in[:1] }),
		"second": function(t, 2, func(_ *graph.Builder, in outputs) outputs { return in[1:] }),
		"fails": function(t, 2, func(b *graph.Builder, in outputs) outputs {
			return outputs{b.Op("Reshape", "wrong", scalar, nil, in[0], b.Const("c", tensorOf([]int64{7}, 1)))}
		}),
	}
	return s
}

func attrs(t []tensor.DType, functions ...string) graph.Attrs {
	a := graph.Attrs{"T": t, "Tout": t}
	for i := 0; i < len(functions); i += 2 {
		a[functions[i]] = graph.Func{Name: functions[i+1]}
	}
	return a
}

var three = []tensor.DType{tensor.Int64, tensor.Int64, tensor.Int64}

func TestControl(t *testing.T) {
	s := control(t)
	loop := attrs(three, "cond", "less", "body", "next")
	out, err := s.try("While", loop, int64(0), int64(10), int64(0))
	if err != nil {
		t.Fatal(err)
	}
	s.expect(out[0], "int64[] 10")
	s.expect(out[2], "int64[] 45")
	s.expect(s.run("StatelessWhile", loop, int64(3), int64(3), int64(0)), "int64[] 3") // no iteration

	branches := attrs(three[:1], "then_branch", "add", "else_branch", "first")
	s.expect(s.run("If", branches, int64(1), int64(5), int64(6)), "int64[] 11")
	s.expect(s.run("StatelessIf", branches, int64(0), int64(5), int64(6)), "int64[] 5")
	s.expect(s.run("If", branches, "", int64(5), int64(6)), "int64[] 5")
	s.expect(s.run("If", branches, []float32{0}, int64(5), int64(6)), "int64[] 11") // it has an element
	cases := graph.Attrs{"Tout": three[:1], "branches": []graph.Func{{Name: "first"}, {Name: "second"}, {Name: "add"}}}
	for i, want := range map[int64]string{0: "5", 1: "6", 2: "11", 3: "11", -1: "11"} {
		s.expect(s.run("Case", cases, i, int64(5), int64(6)), "int64[] "+want)
	}

	s.refuse("there is none", "While", attrs(three, "cond", "less", "body", "gone"), int64(0), int64(10), int64(0))
	s.refuse("expected a function", "While", attrs(three, "cond", "less"), int64(0), int64(10), int64(0))
	s.refuse("2 arguments and 1 results", "While", attrs(three, "cond", "less", "body", "add"), int64(0), int64(10), int64(0))
	s.refuse("3 arguments and 3 results", "While", attrs(three, "cond", "next", "body", "next"), int64(0), int64(10), int64(0))
	s.refuse("expected 3 inputs", "While", loop, int64(0))
	s.refuse("expected a condition", "If", branches)
	s.refuse("expected the number", "Case", cases)
	s.refuse("expected a function", "Case", graph.Attrs{"Tout": three[:1]}, int64(0))
	s.refuse("(Reshape)", "If", attrs(three[:1], "then_branch", "fails", "else_branch", "first"), int64(1), int64(5), int64(6))
}

// TestEndlessLoop: an endless loop ends with its context.
func TestEndlessLoop(t *testing.T) {
	s := control(t)
	in := []Value{{T: tensor.Scalar(int64(0))}, {T: tensor.Scalar(int64(1))}, {T: tensor.Scalar(int64(0))}}
	for _, body := range []string{"next", "same"} {
		ctx, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
		_, err := Run(ctx, &graph.Node{Name: "w", Op: "While", Attrs: attrs(three, "cond", "always", "body", body)}, in, s.env)
		stop()
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `"w" (While)`) {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

// TestFunctionErrors: an invalid function is refused when it is made.
func TestFunctionErrors(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", scalar)
	b.Op("Quux", "q", scalar, nil, x)
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	for says, make := range map[string]func() (*Function, error){
		"not supported":     func() (*Function, error) { return NewFunction(b.Graph, []string{"x"}, "q") },
		"no argument \"y\"": func() (*Function, error) { return NewFunction(b.Graph, []string{"y"}, "q") },
		"no node \"r\"":     func() (*Function, error) { return NewFunction(graph.New(), nil, "r") },
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, expected an error that says %s", err, says)
		}
	}
}
