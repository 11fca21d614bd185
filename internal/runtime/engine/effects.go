package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// connectVariables finds the variables that ops read and write. Its error lists every variable that does not fit.
func connectVariables(ops []*op, vars *Variables) error {
	vars.mu.RLock()
	defer vars.mu.RUnlock()
	var errs []error
	for _, o := range ops {
		if o.node.Op == "VarHandleOp" {
			errs = append(errs, checkVariable(o, vars))
			continue
		}
		for _, in := range o.in {
			if in.op.node.Outputs[in.idx].DType != tensor.Resource {
				continue
			}
			v := vars.byName[variableName(in.op)]
			switch {
			case v == nil: // reported at the handle
			case o.def.writes:
				o.write = append(o.write, v)
			case o.node.Op == "ReadVariableOp":
				o.reads = v
				errs = append(errs, checkRead(o, v))
			}
		}
	}
	return errors.Join(errs...)
}

// writtenBy returns the variables that ops update.
func writtenBy(ops []*op) map[*variable]bool {
	written := map[*variable]bool{}
	for _, o := range ops {
		for _, v := range o.write {
			written[v] = true
		}
	}
	return written
}

// touchedBy returns the variables that ops read or update.
func touchedBy(ops []*op) map[*variable]bool {
	all := writtenBy(ops)
	for _, o := range ops {
		if o.reads != nil {
			all[o.reads] = true
		}
	}
	return all
}

// variableName returns the name of the variable whose handle an op gives.
func variableName(o *op) string {
	for o.node.Op != "VarHandleOp" && len(o.in) > 0 {
		o = o.in[0].op
	}
	if s := o.node.Str("shared_name"); s != "" {
		return s
	}
	return o.node.Name
}

func checkVariable(o *op, vars *Variables) error {
	name := variableName(o)
	v := vars.byName[name]
	if v == nil {
		return fmt.Errorf("variable %s (node %s) was not created: %w", name, o.node.Name, ErrVariable)
	}
	want, _ := o.node.Attrs["dtype"].(tensor.DType)
	shape, ok := o.node.Attrs["shape"].(graph.Shape)
	if want == v.dtype && (!ok || !shape.Known() || shape.Equal(graph.ShapeOf(v.shape...))) {
		return nil
	}
	return fmt.Errorf("variable %s: the graph expects %v %v, got %v %v: %w", name, want, shape, v.dtype, v.shape, ErrVariable)
}

func checkRead(o *op, v *variable) error {
	if t := o.node.Outputs[0]; t.DType != v.dtype || !t.Shape.Equal(graph.ShapeOf(v.shape...)) {
		return fmt.Errorf("node %s reads %v %v from variable %s of %v %v: %w", o.node.Name, t.DType, t.Shape, variableName(o.in[0].op), v.dtype, v.shape, ErrVariable)
	}
	return nil
}

// orderEffects adds edges so that every read not ordered after a write comes before it, along with all ops that use the
// value in the variable's own storage. Where that is impossible, the read becomes a copy.
func orderEffects(sorted []*op, fetched []port, copyAll bool) {
	writers := writersOf(sorted)
	if len(writers) == 0 {
		return
	}
	before := ancestors(sorted)
	consumers := map[*op][]*op{}
	for _, o := range sorted {
		for _, in := range o.in {
			consumers[in.op] = append(consumers[in.op], o)
		}
	}
	for _, o := range sorted {
		if o.reads != nil && len(writers[o.reads]) > 0 {
			users, seen := usersOf(o, consumers, fetched)
			orderRead(o, users, seen || copyAll, writers[o.reads], before)
		}
	}
}

// writersOf returns the ops that write each variable, in the order of sorted.
func writersOf(sorted []*op) map[*variable][]*op {
	writers := map[*variable][]*op{}
	for _, o := range sorted {
		for _, v := range o.write {
			writers[v] = append(writers[v], o)
		}
	}
	return writers
}

// orderRead puts read o and the users of its storage before all writes that do not precede o.
func orderRead(o *op, users []*op, mustCopy bool, writes []*op, before map[*op]opSet) {
	o.copy = mustCopy || conflicts(o, users, writes, before)
	if o.copy {
		users = []*op{o}
	}
	for _, w := range writes {
		if before[o].has(w) {
			continue
		}
		for _, u := range users {
			if u != w {
				w.after = append(w.after, u)
			}
		}
	}
}

// conflicts reports whether a user of read o has to run after one of the writes that o precedes.
func conflicts(o *op, users, writes []*op, before map[*op]opSet) bool {
	for _, w := range writes {
		if before[o].has(w) {
			continue
		}
		for _, u := range users {
			if before[u].has(w) || (u == w && w.def.strict) {
				return true
			}
		}
	}
	return false
}

// usersOf returns o and all ops that see its value in o's own storage, and whether the storage is fetched.
func usersOf(o *op, consumers map[*op][]*op, fetched []port) (users []*op, seen bool) {
	users = []*op{o}
	for i := 0; i < len(users); i++ {
		if u := users[i]; u == o || u.def.alias {
			users = append(users, consumers[u]...)
			seen = seen || slices.ContainsFunc(fetched, func(f port) bool { return f.op == u })
		}
	}
	return users, seen
}

// opSet is a set of writing ops.
type opSet struct {
	ids  map[*op]int
	bits []uint64
}

func (s opSet) has(o *op) bool {
	i, ok := s.ids[o]
	return ok && s.bits[i/64]&(1<<(i%64)) != 0
}

// ancestors returns for every op the writing ops that must run before it.
func ancestors(sorted []*op) map[*op]opSet {
	ids := map[*op]int{}
	for _, o := range sorted {
		if len(o.write) > 0 {
			ids[o] = len(ids)
		}
	}
	all := make(map[*op]opSet, len(sorted))
	for _, o := range sorted {
		s := opSet{ids, make([]uint64, (len(ids)+63)/64)}
		add := func(d *op) {
			for i, w := range all[d].bits {
				s.bits[i] |= w
			}
			if i, ok := ids[d]; ok {
				s.bits[i/64] |= 1 << (i % 64)
			}
		}
		for _, in := range o.in {
			add(in.op)
		}
		for _, d := range o.after {
			add(d)
		}
		all[o] = s
	}
	return all
}
