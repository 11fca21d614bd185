package engine

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// undo undoes the updates of variables unless x is greater than 0.
func (s *scene) undo(x graph.Output, updates []*graph.Node, names ...string) {
	keep := s.Op("Greater", "keep", fixedType(tensor.Bool), nil, x, s.num(0))
	for _, name := range names {
		now, before := s.read(name, updates...), s.read(name)
		s.write("AssignVariableOp", name, s.Op("SelectV2", "choose", scalarType, nil, keep, now, before))
	}
}

// TestGuardedUpdates: an update that would be undone is not made if nothing reads the variable in between; the results are the same.
func TestGuardedUpdates(t *testing.T) {
	for _, c := range []struct {
		what    string
		build   func(s *scene)
		guarded bool
		yes, no [3]float32 // a, b and c after a run, from 1, 2 and 3
	}{
		{"two updates", func(s *scene) {
			n := s.write("AssignAddVariableOp", "a", s.num(5))
			m := s.write("AssignAddVariableOp", "b", s.read("a"))
			s.undo(s.read("x"), []*graph.Node{n, m}, "a", "b")
		}, true, [3]float32{6, 3, 3}, [3]float32{1, 2, 3}},
		{"one update of two variables, only one of which is restored", func(s *scene) {
			n := s.Node("ResourceApplyMomentum", "momentum", nil, nil, s.Variable("a", scalarType), s.Variable("b", scalarType), s.num(1), s.num(4), s.num(0.5))
			s.targets = append(s.targets, n)
			s.undo(s.read("x"), []*graph.Node{n}, "a")
		}, false, [3]float32{-4, 5, 3}, [3]float32{1, 5, 3}},
		{"and both", func(s *scene) {
			n := s.Node("ResourceApplyMomentum", "momentum", nil, nil, s.Variable("a", scalarType), s.Variable("b", scalarType), s.num(1), s.num(4), s.num(0.5))
			s.targets = append(s.targets, n)
			s.undo(s.read("x"), []*graph.Node{n}, "a", "b")
		}, true, [3]float32{-4, 5, 3}, [3]float32{1, 2, 3}},
		{"an update between is used by another", func(s *scene) {
			n := s.write("AssignAddVariableOp", "a", s.num(5))
			m := s.write("AssignVariableOp", "b", s.read("a", n), n)
			s.undo(s.read("x"), []*graph.Node{n, m}, "a", "b")
		}, true, [3]float32{6, 6, 3}, [3]float32{1, 2, 3}},
		{"the value between is seen", func(s *scene) {
			n := s.write("AssignAddVariableOp", "a", s.num(5))
			s.write("AssignVariableOp", "c", s.read("a", n), n)
			s.undo(s.read("x"), []*graph.Node{n}, "a")
		}, false, [3]float32{6, 2, 6}, [3]float32{1, 2, 6}},
		{"the value between is fetched", func(s *scene) {
			n := s.write("AssignAddVariableOp", "a", s.num(5))
			s.fetches = append(s.fetches, s.op("Neg", s.read("a", n)))
			s.undo(s.read("x"), []*graph.Node{n}, "a")
		}, false, [3]float32{6, 2, 3}, [3]float32{1, 2, 3}},
		{"the condition depends on the update", func(s *scene) {
			n := s.write("AssignVariableOp", "a", s.read("x"))
			s.undo(s.read("a", n), []*graph.Node{n}, "a")
		}, false, [3]float32{1, 2, 3}, [3]float32{1, 2, 3}},
		{"the value before is that after another update", func(s *scene) {
			n := s.write("AssignAddVariableOp", "c", s.num(5))
			m := s.write("AssignAddVariableOp", "a", s.num(5), n)
			keep := s.Op("Greater", "keep", fixedType(tensor.Bool), nil, s.read("x"), s.num(0))
			handle := s.Variable("a", scalarType)
			late := s.Op("Identity", "handle", graph.Type{DType: tensor.Resource}, nil, handle)
			late.Node.Control = []*graph.Node{m}
			s.write("AssignVariableOp", "a", s.Op("SelectV2", "choose", scalarType, nil, keep, s.read("a", m), s.Read(late, scalarType)))
		}, false, [3]float32{6, 2, 8}, [3]float32{6, 2, 8}},
		{"two conditions", func(s *scene) {
			n := s.write("AssignAddVariableOp", "a", s.num(5))
			m := s.write("AssignAddVariableOp", "b", s.num(5))
			s.undo(s.read("x"), []*graph.Node{n, m}, "a")
			s.undo(s.op("Neg", s.read("x")), []*graph.Node{n, m}, "b")
		}, true, [3]float32{6, 2, 3}, [3]float32{1, 7, 3}},
	} {
		t.Run(c.what, func(t *testing.T) {
			onSplits(t, func(t *testing.T, dev device.Device) {
				for _, x := range []float32{1, -1} {
					s := newScene(t, dev, map[string]float32{"a": 1, "b": 2, "c": 3, "x": x})
					c.build(s)
					p := ok(s.compile())
					if found := slices.ContainsFunc(p.ops, func(o *op) bool { return o.guarded }); found != c.guarded {
						t.Errorf("%v: there are guarded updates: %v", x, found)
					}
					if c.guarded && slices.ContainsFunc(p.ops, func(o *op) bool { return o.node.Op == "SelectV2" || o.copy }) {
						t.Error("values of variables are chosen or copied all the same")
					}
					if err := p.Run(bg, 1, nil); err != nil {
						t.Fatal(err)
					}
					want := c.yes
					if x < 0 {
						want = c.no
					}
					var got [3]float32
					for i, name := range []string{"a", "b", "c"} {
						got[i] = tensor.Values[float32](ok(s.vars.Get(name)))[0]
					}
					if got != want {
						t.Errorf("%v: got %v, expected %v", x, got, want)
					}
					if err := p.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// TestGuardsComeLast: steps that may fail come before guards, as they do before updates.
func TestGuardsComeLast(t *testing.T) {
	dev := device.NewHost()
	s := newScene(t, dev, map[string]float32{"a": 1, "x": 1})
	n := s.write("AssignAddVariableOp", "a", s.num(5))
	s.undo(s.read("x"), []*graph.Node{n}, "a")
	s.fetches = append(s.fetches, s.op("Neg", s.op("Exp", s.read("x"))))
	p := ok(s.compile())
	guard := slices.IndexFunc(p.ops, func(o *op) bool { return o.node.Op == guardOp })
	if after := p.ops[guard+1:]; guard < 0 || slices.ContainsFunc(after, func(o *op) bool { return len(o.write) == 0 }) {
		t.Errorf("the guard is op %d of %d: expected updates alone after it", guard, len(p.ops))
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
