package functionalize

import (
	"fmt"
	"slices"

	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

const boolean = types_go_proto.DataType_DT_BOOL

// join is a Merge with the branches that its two values come from.
type join struct {
	merge   *nodeDef
	pred    source
	regions [2][]*nodeDef // for a false and a true condition
	results [2]source
	gates   []*nodeDef // the Switches
}

// branches replaces the conditions of a graph without loops, nested ones first, and returns the nodes that the
// roots need.
func (c *converter) branches(s *scope, roots []string) ([]*nodeDef, error) {
	blocked := map[string]string{}
	for {
		ready, waiting, err := c.joins(s, blocked)
		if err != nil {
			return nil, err
		}
		if len(ready) == 0 && len(waiting) > 0 {
			return nil, fmt.Errorf("node %q (Merge): the condition lies within itself: expected one of tf.cond", waiting[0])
		}
		if len(ready) == 0 {
			return c.needed(s, roots)
		}
		groups, err := c.groups(s, ready)
		if err != nil {
			return nil, err
		}
		for _, group := range groups {
			if err := c.branch(s, group); err != nil {
				return nil, fmt.Errorf("node %q (Merge): %w", group[0].merge.GetName(), err)
			}
		}
	}
}

// needed returns the nodes that the roots need. They must not include ops of control flow.
func (c *converter) needed(s *scope, roots []string) ([]*nodeDef, error) {
	var starts []source
	for _, name := range roots {
		starts = append(starts, source{name, 0})
	}
	region, err := c.walk(s, starts, func(source) bool { return false })
	if err != nil {
		return nil, err
	}
	in := map[string]bool{}
	for _, n := range region {
		if flowOps[n.GetOp()] {
			return nil, fmt.Errorf("node %q (%s) belongs to no loop of tf.while_loop and no condition of tf.cond: other control flow of TensorFlow 1 is not supported", n.GetName(), n.GetOp())
		}
		in[n.GetName()] = true
	}
	var nodes []*nodeDef
	for _, name := range s.names {
		if in[name] {
			nodes = append(nodes, s.nodes[name])
		}
	}
	return nodes, nil
}

// joins returns the Merges whose branches contain no other Merge, and the names of the others. blocked maps a Merge to one within
// it; it is not checked again before that one is replaced.
func (c *converter) joins(s *scope, blocked map[string]string) (ready []*join, waiting []string, err error) {
	for _, name := range s.names {
		n := s.nodes[name]
		if n.GetOp() != "Merge" || len(data(n)) != 2 || slices.ContainsFunc(data(n), func(in source) bool {
			op := s.nodes[in.node].GetOp()
			return op == "NextIteration" || op == "Enter"
		}) {
			continue // it belongs to a replaced loop; any other is refused if something needs it
		}
		if s.nodes[blocked[name]].GetOp() == "Merge" {
			waiting = append(waiting, name)
			continue
		}
		j, inner, err := c.join(s, n)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("node %q (Merge): %w", name, err)
		case inner != "":
			blocked[name] = inner
			waiting = append(waiting, name)
		default:
			ready = append(ready, j)
		}
	}
	return ready, waiting, nil
}

// join finds the branches of a Merge, or names another Merge within them.
func (c *converter) join(s *scope, n *nodeDef) (j *join, inner string, err error) {
	j = &join{merge: n}
	var ports [2]map[int]bool
	var results [2]source
	var regions [2][]*nodeDef
	known := false
	for i, in := range data(n) {
		ports[i] = map[int]bool{}
		var bad error
		results[i] = in
		regions[i], err = c.walk(s, []source{in}, func(at source) bool {
			gate := s.nodes[at.node]
			if gate.GetOp() == "Merge" {
				inner = at.node
			}
			if inner != "" {
				return true // the other errors do not matter
			}
			if gate.GetOp() != "Switch" || len(data(gate)) != 2 {
				return false
			}
			if pred := c.origin(s, data(gate)[1], "Identity"); !known {
				j.pred, known = pred, true
			} else if pred != j.pred && c.origin(s, pred, "Identity", "Switch") != c.origin(s, j.pred, "Identity", "Switch") {
				bad = fmt.Errorf("it depends on two conditions, %q and %q, and neither lies within the other: expected one of tf.cond", j.pred, pred)
			}
			ports[i][at.output] = true
			j.gates = append(j.gates, gate)
			return true
		})
		switch {
		case err != nil || inner != "":
			return nil, inner, err
		case bad != nil:
			return nil, "", bad
		}
	}
	j.gates = distinct(j.gates)
	yes := 0
	if ports[1][1] || ports[0][0] {
		yes = 1
	}
	if !known || ports[yes][0] || ports[1-yes][1] || ports[0][-1] || ports[1][-1] {
		return nil, "", fmt.Errorf("its values are not those of the two outcomes of a condition: expected one of tf.cond")
	}
	j.results, j.regions = [2]source{results[1-yes], results[yes]}, [2][]*nodeDef{regions[1-yes], regions[yes]}
	return j, "", nil
}

// origin follows a source back through nodes of these ops that copy it: tf.cond copies the condition for all its Switches
// but one, and passes it into nested conditions.
func (c *converter) origin(s *scope, of source, ops ...string) source {
	for range maxCopies {
		c.visits++
		n := s.nodes[of.node]
		if !slices.Contains(ops, n.GetOp()) || len(data(n)) == 0 {
			break
		}
		of = data(n)[0]
	}
	return of
}

// maxCopies bounds how many copies of a condition are followed.
const maxCopies = 64

// groups groups the joins of each condition, unless one of them needs another.
func (c *converter) groups(s *scope, list []*join) ([][]*join, error) {
	same := map[source][]*join{}
	var order []source
	for _, j := range list {
		if same[j.pred] == nil {
			order = append(order, j.pred)
		}
		same[j.pred] = append(same[j.pred], j)
	}
	var out [][]*join
	for _, pred := range order {
		group := same[pred]
		apart, err := c.dependent(s, group)
		if err != nil {
			return nil, err
		}
		if !apart {
			out = append(out, group)
			continue
		}
		for _, j := range group {
			out = append(out, []*join{j})
		}
	}
	return out, nil
}

// dependent reports whether an input of a group's branches comes from one of its Merges.
func (c *converter) dependent(s *scope, group []*join) (bool, error) {
	if len(group) == 1 {
		return false, nil
	}
	var starts []source
	merges := map[*nodeDef]bool{}
	for _, j := range group {
		merges[j.merge] = true
		for _, g := range j.gates {
			starts = append(starts, data(g)[0])
		}
	}
	before, err := c.walk(s, starts, func(source) bool { return false })
	return slices.ContainsFunc(before, func(n *nodeDef) bool { return merges[n] }), err
}

// branch replaces the Merges of one condition.
func (c *converter) branch(s *scope, group []*join) error {
	op := &nodeDef{Name: s.free(group[0].merge.GetName() + "/If"), Op: "If", Input: []string{group[0].pred.String()}}
	var types []dataType
	for _, j := range group {
		types = append(types, dtype(j.merge))
		if s.several[j.merge.GetName()] {
			return fmt.Errorf("a node reads which branch was taken: that is not supported")
		}
	}
	gates, inputs, regions := parts(group)
	var in []dataType
	for _, g := range gates {
		op.Input, in = append(op.Input, data(g)[0].String()), append(in, dtype(g))
	}
	for _, p := range inputs {
		op.Input, in = append(op.Input, p.GetName()), append(in, p.GetAttr()["dtype"].GetType())
	}
	op.Attr = map[string]*attrValue{"Tcond": typeOf(boolean), "Tin": typeList(in), "Tout": typeList(types)}
	for side, attr := range []string{"else_branch", "then_branch"} {
		var args []argument
		for _, g := range gates {
			args = append(args, argument{[]source{{g.GetName(), side}}, dtype(g)})
		}
		for _, p := range inputs {
			args = append(args, argument{[]source{{p.GetName(), 0}}, p.GetAttr()["dtype"].GetType()})
		}
		var results []source
		for _, j := range group {
			results = append(results, j.results[side])
		}
		name, err := c.function(op.Name+"/"+attr, args, regions[side], results, types)
		if err != nil {
			return err
		}
		op.Attr[attr] = funcOf(name)
	}
	s.add(op)
	for i, j := range group {
		s.add(like(j.merge, "Identity", append([]string{source{op.Name, i}.String()}, controls(j.merge)...)))
	}
	return nil
}

// parts returns the Switches of a group, the placeholders that its branches read without one (after a control edge),
// and the other nodes of its branches.
func parts(group []*join) (gates, inputs []*nodeDef, regions [2][]*nodeDef) {
	for _, j := range group {
		gates = append(gates, j.gates...)
		for side, region := range j.regions {
			for _, n := range region {
				if isPlaceholder(n) {
					inputs = append(inputs, n)
				} else {
					regions[side] = append(regions[side], n)
				}
			}
		}
	}
	for side := range regions {
		regions[side] = distinct(regions[side])
	}
	return distinct(gates), distinct(inputs), regions
}

// distinct removes duplicates.
func distinct(nodes []*nodeDef) []*nodeDef {
	seen := map[*nodeDef]bool{}
	return slices.DeleteFunc(nodes, func(n *nodeDef) bool {
		before := seen[n]
		seen[n] = true
		return before
	})
}
