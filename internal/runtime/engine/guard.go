package engine

import (
	"errors"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// guardOp gives 0 if its bool operand is true, else 1. Updates with it as their last operand are made only if it is 0. On an
// accelerator it also reports faults.
const guardOp = "_Guard"

// undone is an assignment that undoes the updates of a variable unless a condition holds.
type undone struct {
	assign, choose, read *op  // the variable gets choose(cond, its value now, its value at the beginning)
	cond                 port // a bool
}

// guardUpdates turns updates that are undone into updates that are not made. Without control flow, a graph has to compute
// both values of a variable, which would copy the variable in each run. It returns the remaining ops.
func guardUpdates(ops []*op, fetched []port) []*op {
	g := &guarder{fetched: fetched, uses: countUses(ops, fetched), users: map[*op][]*op{}, waited: map[*op]bool{},
		readers: map[*variable][]*op{}, writers: map[*variable][]*op{}, undone: map[*variable]undone{}}
	for _, o := range ops {
		if o.reads != nil {
			g.readers[o.reads] = append(g.readers[o.reads], o)
		}
		for _, in := range o.in {
			g.users[in.op] = append(g.users[in.op], o)
		}
		for _, d := range o.after {
			g.waited[d] = true
		}
	}
	for _, o := range ops {
		g.find(o)
	}
	if len(g.undone) == 0 {
		return ops
	}
	for _, o := range ops {
		for _, v := range o.write {
			if g.undone[v].assign != o {
				g.writers[v] = append(g.writers[v], o)
			}
		}
	}
	g.narrow()
	return g.rewrite(ops)
}

type guarder struct {
	fetched []port
	uses    map[port]int
	users   map[*op][]*op // users of values
	waited  map[*op]bool  // waited for by a control edge
	readers map[*variable][]*op
	writers map[*variable][]*op
	undone  map[*variable]undone
}

// find records the assignment that undoes the updates of a variable. If there are two, it uses neither.
func (g *guarder) find(o *op) {
	if o.node.Op != "AssignVariableOp" || len(o.in) != 2 || len(o.write) != 1 || g.waited[o] {
		return
	}
	v, s := o.write[0], o.in[1].op
	if s.node.Op != "SelectV2" || len(s.in) != 3 || s.feed >= 0 || g.uses[o.in[1]] != 1 || g.waited[s] || len(o.after)+len(s.after) > 0 {
		return
	}
	now, before := s.in[1].op, s.in[2].op
	if now.reads != v || before.reads != v || atBeginning(now) || !atBeginning(before) || g.uses[s.in[1]] != 1 || g.waited[now] {
		return
	}
	if t := typeOf(s.in[0]); t.DType != tensor.Bool || t.Shape.Rank() != 0 {
		return
	}
	if g.undone[v].assign != nil {
		g.undone[v] = undone{assign: o}
		return
	}
	g.undone[v] = undone{o, s, now, s.in[0]}
}

// atBeginning reports whether a read waits for nothing, so that it gives the value at the beginning of a run.
func atBeginning(read *op) bool {
	return len(read.after) == 0 && len(dependencies(read.in[0].op)) == 0
}

// narrow drops assignments that are not pure undoing: other updates may be kept, or something may read the value before.
func (g *guarder) narrow() {
	late := map[*op]bool{} // ops that the conditions depend on
	var mark func(o *op)
	mark = func(o *op) {
		if late[o] {
			return
		}
		late[o] = true
		for _, d := range dependencies(o) {
			mark(d)
		}
	}
	for _, u := range g.undone {
		if u.cond.op != nil {
			mark(u.cond.op)
		}
	}
	for changed := true; changed; {
		changed = false
		for v, u := range g.undone {
			if u.cond.op == nil || !g.whole(v, u, late) || !g.unseen(v, u) {
				delete(g.undone, v)
				changed = true
			}
		}
	}
}

// whole reports whether all updates of a variable precede its second read, and update only variables that are undone.
func (g *guarder) whole(v *variable, u undone, late map[*op]bool) bool {
	for _, w := range g.writers[v] {
		if late[w] || !slices.Contains(u.read.after, w) || !g.guardable(w, u.cond) {
			return false
		}
	}
	return true
}

// guardable reports whether everything that an op updates is undone by a condition.
func (g *guarder) guardable(w *op, cond port) bool {
	return len(w.write) > 0 && !slices.ContainsFunc(w.write, func(v *variable) bool { return g.undone[v].cond != cond })
}

// unseen reports whether only updates under the same condition use the variable's value in between.
func (g *guarder) unseen(v *variable, u undone) bool {
	for _, o := range g.readers[v] {
		if o == u.read || atBeginning(o) {
			continue
		}
		if slices.ContainsFunc(g.fetched, func(p port) bool { return p.op == o }) {
			return false
		}
		for _, user := range g.users[o] {
			if !g.guardable(user, u.cond) {
				return false
			}
		}
	}
	return true
}

// rewrite gives the updates their guards.
func (g *guarder) rewrite(ops []*op) []*op {
	guards := map[port]*op{}
	var added, gone []*op
	for _, o := range ops {
		if len(o.write) == 0 {
			continue
		}
		u, ok := g.undone[o.write[0]]
		if !ok {
			continue
		}
		if u.assign == o {
			gone = append(gone, o, u.choose, u.read, u.choose.in[2].op)
			continue
		}
		if guards[u.cond] == nil {
			n := &graph.Node{Name: u.cond.op.node.Name + "/guard", Op: guardOp, Device: u.cond.op.node.Device, Attrs: graph.Attrs{}, Outputs: []graph.Type{{DType: tensor.Int64}}}
			// It comes as late as possible, to see all faults that prevent updates.
			guards[u.cond] = &op{node: n, index: math.MaxInt, feed: -1, in: []port{u.cond}, def: registry()[guardOp]}
			added = append(added, guards[u.cond])
		}
		o.in, o.guarded = append(slices.Clone(o.in), port{guards[u.cond], 0}), true
	}
	ops = slices.DeleteFunc(ops, func(o *op) bool {
		return len(o.write) > 0 && slices.Contains(gone, o)
	})
	return withoutUnused(append(ops, added...), gone, g.fetched)
}

// operands returns the inputs that an op computes with, without its guard.
func (o *op) operands(in []*value) []*value {
	if o.guarded {
		return in[:len(in)-1]
	}
	return in
}

func compileGuard(c *binding) (runFunc, error) {
	if err := c.need(1, 1); err != nil {
		return nil, err
	}
	if err := errors.Join(checkTypes[bool](c.in[0]), checkTypes[int64](c.out[0]), checkShape("condition", c.in[0]), checkShape("guard", c.out[0])); err != nil {
		return nil, err
	}
	return func() error {
		skip := int64(1)
		if view[bool](c.in[0])[0] {
			skip = 0
		}
		view[int64](c.out[0])[0] = skip
		return nil
	}, nil
}

// guarded is an update that is made if its guard is 0.
func guarded(run runFunc, guard *value) runFunc {
	return func() error {
		if view[int64](guard)[0] != 0 {
			return nil
		}
		return run()
	}
}
