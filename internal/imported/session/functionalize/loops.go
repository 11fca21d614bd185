package functionalize

import (
	"fmt"
	"maps"
	"slices"
)

// loop is a frame, as tf.compat.v1.while_loop makes it.
type loop struct {
	name       string
	variables  []*variable
	invariants []*nodeDef // the Enters of loop invariants
	cond       *nodeDef   // the LoopCond
}

// variable is a loop variable.
type variable struct {
	enter, merge, next, choice *nodeDef // choice is the Switch
	exits                      []*nodeDef
}

// loops replaces the frames, nested ones first.
func (c *converter) loops(s *scope) error {
	all, err := frames(s)
	if err != nil {
		return err
	}
	waiting := slices.Sorted(maps.Keys(all))
	for len(waiting) > 0 {
		var later []string
		for _, name := range waiting {
			done, err := c.loop(s, all[name])
			if err != nil {
				return fmt.Errorf("loop %q: %w", name, err)
			}
			if !done {
				later = append(later, name)
			}
		}
		if len(later) == len(waiting) {
			return fmt.Errorf("loop %q: it lies within itself, or its parts are used from outside: expected one of tf.while_loop", later[0])
		}
		waiting = later
	}
	return nil
}

// frames finds the parts of each loop.
func frames(s *scope) (map[string]*loop, error) {
	all, entered := map[string]*loop{}, map[string]*loop{}
	for _, name := range s.names {
		if n := s.nodes[name]; n.GetOp() == "Enter" {
			frame := string(n.GetAttr()["frame_name"].GetS())
			if all[frame] == nil {
				all[frame] = &loop{name: frame}
			}
			entered[name] = all[frame]
		}
	}
	merged, err := merges(s, entered)
	if err != nil {
		return nil, err
	}
	chosen, changes := map[string]*variable{}, map[*nodeDef]bool{}
	for _, name := range s.names {
		n := s.nodes[name]
		in := data(n)
		if n.GetOp() != "Switch" || len(in) != 2 || merged[in[0].node] == nil {
			continue
		}
		v, cond := merged[in[0].node], s.nodes[in[1].node]
		if cond.GetOp() != "LoopCond" {
			continue // it belongs to a condition
		}
		l := entered[v.enter.GetName()]
		if v.choice != nil || l.cond != nil && l.cond != cond {
			return nil, fmt.Errorf("node %q: a loop has one condition, and one Switch for each of its variables", name)
		}
		v.choice, l.cond = n, cond
		chosen[name] = v
	}
	for _, name := range s.names {
		n := s.nodes[name]
		if in := data(n); n.GetOp() == "Exit" && len(in) == 1 && in[0].output == 0 && chosen[in[0].node] != nil {
			v := chosen[in[0].node]
			v.exits = append(v.exits, n)
		}
	}
	for _, name := range s.names {
		if v := merged[name]; v != nil {
			changes[v.enter] = true
			if v.choice == nil {
				return nil, fmt.Errorf("node %q: a variable of a loop has a Switch", name)
			}
		}
	}
	for _, name := range s.names {
		if l, n := entered[name], s.nodes[name]; l != nil && !changes[n] {
			l.invariants = append(l.invariants, n)
		}
	}
	return all, nil
}

// merges finds the loop variables by their Merges.
func merges(s *scope, entered map[string]*loop) (map[string]*variable, error) {
	out := map[string]*variable{}
	for _, name := range s.names {
		n := s.nodes[name]
		if n.GetOp() != "Merge" {
			continue
		}
		v := &variable{merge: n}
		for _, in := range data(n) {
			switch from := s.nodes[in.node]; from.GetOp() {
			case "Enter":
				v.enter = from
			case "NextIteration":
				v.next = from
			}
		}
		if v.enter == nil && v.next == nil {
			continue // it belongs to a condition
		}
		if v.enter == nil || v.next == nil || len(data(n)) != 2 || len(data(v.next)) != 1 || len(data(v.enter)) != 1 {
			return nil, fmt.Errorf("node %q: expected the Merge of an Enter and a NextIteration", name)
		}
		l := entered[v.enter.GetName()]
		l.variables = append(l.variables, v)
		out[name] = v
	}
	return out, nil
}

// loop replaces a frame, unless another one is nested in it.
func (c *converter) loop(s *scope, l *loop) (done bool, err error) {
	if l.cond == nil || len(data(l.cond)) != 1 {
		return false, fmt.Errorf("it has no condition")
	}
	var results []source
	for _, v := range l.variables {
		results = append(results, data(v.next)[0])
	}
	condArgs, bodyArgs, types := l.arguments()
	cond, err := c.walk(s, data(l.cond), stopAt(condArgs))
	if err != nil {
		return false, err
	}
	body, err := c.walk(s, results, stopAt(bodyArgs))
	if err != nil {
		return false, err
	}
	for _, n := range slices.Concat(cond, body) {
		switch n.GetOp() {
		case "Enter", "Exit", "NextIteration", "LoopCond":
			return false, nil
		}
	}
	for _, e := range l.invariants {
		results = append(results, source{e.GetName(), 0})
	}
	loop := &nodeDef{Name: s.free(l.name + "/While"), Op: "While", Attr: map[string]*attrValue{"T": typeList(types)}}
	test, err := c.function(loop.Name+"/cond", condArgs, cond, data(l.cond), []dataType{boolean})
	if err != nil {
		return false, err
	}
	run, err := c.function(loop.Name+"/body", bodyArgs, body, results, types)
	if err != nil {
		return false, err
	}
	loop.Attr["cond"], loop.Attr["body"] = funcOf(test), funcOf(run)
	var after []string
	for i, e := range l.enters() {
		if len(data(e)) != 1 {
			return false, fmt.Errorf("node %q: expected one input", e.GetName())
		}
		loop.Input = append(loop.Input, data(e)[0].String())
		after = append(after, controls(e)...)
		if i < len(l.variables) {
			for _, x := range l.variables[i].exits {
				s.add(like(x, "Identity", append([]string{source{loop.Name, i}.String()}, controls(x)...)))
			}
		}
	}
	loop.Input = append(loop.Input, slices.Compact(slices.Sorted(slices.Values(after)))...)
	s.add(loop)
	return true, nil
}

// enters returns the Enters in the order of the arguments.
func (l *loop) enters() []*nodeDef {
	var out []*nodeDef
	for _, v := range l.variables {
		out = append(out, v.enter)
	}
	return append(out, l.invariants...)
}

// arguments returns the arguments of condition and body: the variables, then the loop invariants.
func (l *loop) arguments() (cond, body []argument, types []dataType) {
	for _, v := range l.variables {
		t := dtype(v.enter)
		types = append(types, t)
		cond = append(cond, argument{[]source{{v.merge.GetName(), 0}}, t})
		body = append(body, argument{[]source{{v.choice.GetName(), 1}}, t})
	}
	for _, e := range l.invariants {
		t := dtype(e)
		types = append(types, t)
		same := argument{[]source{{e.GetName(), 0}}, t}
		cond, body = append(cond, same), append(body, same)
	}
	return cond, body, types
}

// stopAt returns a function that stops a walk at arguments, and at control edges from their nodes.
func stopAt(args []argument) func(source) bool {
	at := map[source]bool{}
	for _, a := range args {
		for _, of := range a.of {
			at[of], at[source{of.node, -1}] = true, true
		}
	}
	return func(src source) bool { return at[src] }
}
