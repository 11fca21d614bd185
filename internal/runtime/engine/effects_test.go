package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// scene is a graph with scalar float32 variables for tests of the order of effects.
type scene struct {
	t *testing.T
	*graph.Builder
	vars    *Variables
	dev     device.Device
	fetches []graph.Output
	targets []*graph.Node
}

var scalarType = fixedType(tensor.Float32)

func newScene(t *testing.T, dev device.Device, values map[string]float32) *scene {
	s := &scene{t: t, Builder: graph.NewBuilder(graph.New()), vars: ok(NewVariables(dev)), dev: dev}
	for n, v := range values {
		if err := s.vars.Create(n, tensor.Scalar(v)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *scene) read(name string, after ...*graph.Node) graph.Output {
	return s.Read(s.Variable(name, scalarType), scalarType, after...)
}

func (s *scene) num(v float64) graph.Output { return s.Scalar("c", tensor.Float32, v) }

func (s *scene) op(op string, in ...graph.Output) graph.Output {
	return s.Op(op, strings.ToLower(op), scalarType, nil, in...)
}

func (s *scene) write(op, name string, x graph.Output, after ...*graph.Node) *graph.Node {
	n := s.Node(op, op, nil, graph.Attrs{"dtype": tensor.Float32}, s.Variable(name, scalarType), x)
	n.Control = after
	s.targets = append(s.targets, n)
	return n
}

func (s *scene) compile() (*Program, error) {
	if s.Err() != nil {
		s.t.Fatal(s.Err())
	}
	return Compile(s.Graph, Spec{Fetches: s.fetches, Targets: s.targets}, s.dev, s.vars, Options{})
}

// expect runs the program once and compares fetches and a variable.
func (s *scene) expect(variable string, value float32, fetches ...float32) {
	s.t.Helper()
	p, err := s.compile()
	if err == nil {
		err = p.Run(bg, 1, nil)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	for i, want := range fetches {
		if got := tensor.Values[float32](p.Value(i))[0]; got != want {
			s.t.Errorf("fetch %d: expected %v, got %v", i, want, got)
		}
	}
	if got := tensor.Values[float32](ok(s.vars.Get(variable)))[0]; got != value {
		s.t.Errorf("variable %s: expected %v, got %v", variable, value, got)
	}
}

func TestReadsComeBeforeWrites(t *testing.T) {
	onSplits(t, func(t *testing.T, dev device.Device) {
		t.Run("a fetched read", func(t *testing.T) {
			s := newScene(t, dev, map[string]float32{"v": 1})
			s.write("AssignVariableOp", "v", s.num(5))
			s.fetches = append(s.fetches, s.read("v"))
			s.expect("v", 5, 1)
		})
		t.Run("an identity of a read", func(t *testing.T) {
			s := newScene(t, dev, map[string]float32{"v": 1})
			s.write("AssignVariableOp", "v", s.num(5))
			s.fetches = append(s.fetches, s.op("Identity", s.read("v")))
			s.expect("v", 5, 1)
		})
		t.Run("a late user", func(t *testing.T) {
			s := newScene(t, dev, map[string]float32{"v": 1})
			s.write("AssignAddVariableOp", "v", s.num(2))
			s.fetches = append(s.fetches, s.op("Neg", s.op("Identity", s.read("v"))))
			s.expect("v", 3, -1)
		})
		t.Run("a user that needs both values", func(t *testing.T) {
			s := newScene(t, dev, map[string]float32{"v": 1})
			old := s.read("v")
			w := s.write("AssignAddVariableOp", "v", s.num(2))
			s.fetches = append(s.fetches, s.op("Mul", old, s.read("v", w)))
			s.expect("v", 3, 3)
		})
		t.Run("reads after the write", func(t *testing.T) {
			s := newScene(t, dev, map[string]float32{"v": 1})
			w := s.write("AssignAddVariableOp", "v", s.num(2))
			s.fetches = append(s.fetches, s.read("v", w))
			s.expect("v", 3, 3)
		})
		t.Run("a write of what was read", func(t *testing.T) {
			s := newScene(t, dev, map[string]float32{"v": 3})
			s.write("AssignSubVariableOp", "v", s.read("v"))
			s.expect("v", 0)
		})
		t.Run("weight decay", func(t *testing.T) {
			s := newScene(t, dev, map[string]float32{"v": 4})
			s.targets = []*graph.Node{s.Node("ResourceApplyGradientDescent", "decay", nil, nil, s.Variable("v", scalarType), s.num(0.25), s.read("v"))}
			s.expect("v", 3)
		})
		t.Run("an exchange", func(t *testing.T) {
			s := newScene(t, dev, map[string]float32{"a": 1, "b": 2})
			s.write("AssignVariableOp", "a", s.read("b"))
			s.write("AssignVariableOp", "b", s.read("a"))
			s.fetches = append(s.fetches, s.read("b"))
			s.expect("b", 1, 2)
		})
	})
}

func TestWritesKeepTheirOrder(t *testing.T) {
	onSplits(t, func(t *testing.T, dev device.Device) {
		t.Run("of the graph", func(t *testing.T) {
			s := newScene(t, dev, map[string]float32{"v": 1})
			s.write("AssignAddVariableOp", "v", s.num(2))
			s.write("AssignVariableOp", "v", s.num(7))
			s.expect("v", 7)
		})
		t.Run("of control edges", func(t *testing.T) {
			s := newScene(t, dev, map[string]float32{"v": 1})
			first := s.write("AssignVariableOp", "v", s.num(7))
			second := s.write("AssignAddVariableOp", "v", s.num(2))
			first.Control = []*graph.Node{second}
			s.expect("v", 7)
		})
		t.Run("a read between them", func(t *testing.T) {
			s := newScene(t, dev, map[string]float32{"v": 1})
			s.write("AssignVariableOp", "v", s.num(7))
			second := s.write("AssignAddVariableOp", "v", s.num(2))
			s.fetches = append(s.fetches, s.op("Neg", s.read("v", second))) // after the second, not the first
			s.expect("v", 7, -3)
		})
		t.Run("a target pulls its control inputs in", func(t *testing.T) {
			s := newScene(t, dev, map[string]float32{"v": 1})
			w := s.write("AssignAddVariableOp", "v", s.num(2))
			all := s.Node("NoOp", "all", nil, nil)
			all.Control = []*graph.Node{w}
			s.targets = []*graph.Node{all}
			s.expect("v", 3)
		})
	})
}

func TestContradictionIsACycle(t *testing.T) {
	s := newScene(t, device.NewHost(), map[string]float32{"a": 1, "b": 2})
	wa := s.write("AssignVariableOp", "a", s.num(1))
	wb := s.write("AssignVariableOp", "b", s.num(1))
	s.fetches = []graph.Output{s.read("a", wb), s.read("b", wa)}
	if _, err := s.compile(); !errors.Is(err, ErrCycle) {
		t.Errorf("expected ErrCycle, got %v", err)
	}
	plain := graph.NewBuilder(graph.New())
	x := plain.Node("Neg", "x", []graph.Type{scalarType}, nil, plain.Scalar("c", tensor.Float32, 1))
	x.Inputs[0] = x.Out(0)
	if _, err := Compile(plain.Graph, Spec{Fetches: []graph.Output{x.Out(0)}}, device.NewHost(), s.vars, Options{}); !errors.Is(err, ErrCycle) {
		t.Errorf("expected ErrCycle, got %v", err)
	}
}

// TestFailedRunLeavesVariables checks that updates come after everything that can fail.
func TestFailedRunLeavesVariables(t *testing.T) {
	s := newScene(t, device.NewHost(), map[string]float32{"v": 1})
	s.write("AssignAddVariableOp", "v", s.num(2))
	table := s.Const("table", dense([]float32{1, 2}, 2))
	ids := s.Placeholder("ids", batchType(tensor.Int32))
	row := s.Op("GatherV2", "gather", batchType(tensor.Float32), nil, table, ids, s.Const("axis", tensor.Scalar(int32(0))))
	p := ok(Compile(s.Graph, Spec{Feeds: []graph.Output{ids}, Fetches: []graph.Output{row}, Targets: s.targets}, s.dev, s.vars, Options{}))
	err := p.Run(bg, 1, []*tensor.Tensor{dense([]int32{2}, 1)})
	var bad *IndexError
	if !errors.As(err, &bad) || bad.Index != 2 || bad.Size != 2 {
		t.Errorf("expected an IndexError, got %v", err)
	}
	if got := tensor.Values[float32](ok(s.vars.Get("v")))[0]; got != 1 {
		t.Errorf("variable: expected 1, got %v", got)
	}
	if p.Value(0) != nil {
		t.Error("a failed run gave a result")
	}
}
