package engine

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// implicitBroadcasts makes elementwise ops read the input of a BroadcastTo, as they broadcast it themselves.
func implicitBroadcasts(all []*op, fetched []port) []*op {
	var dropped []*op
	for _, o := range all {
		if e, _, _ := elementalOf(o); e == nil || !e.broadcasts {
			continue
		}
		for i, p := range o.in {
			if p.op.node.Op != ops.BroadcastTo.Name || p.op.feed >= 0 || len(p.op.in) != 2 || len(p.op.after) > 0 {
				continue
			}
			o.in[i] = p.op.in[0]
			if e, _, _ := elementalOf(o); e == nil {
				o.in[i] = p
				continue
			}
			dropped = append(dropped, p.op)
		}
	}
	return withoutUnused(all, dropped, fetched)
}

// computeAgain recomputes the result of a cheap op for elementwise ops much later in the order, if the cheap op's operands
// are kept until then anyway, as for gradients. The recomputed op joins their fusion, and its result need not be kept.
func computeAgain(all []*op, fetched []port) []*op {
	sorted, err := sortOps(all, nil)
	if err != nil {
		return all // order reports the error
	}
	var copied []*op
	users := map[port][]*op{}
	for i, o := range sorted {
		o.at = i
		for _, in := range o.in {
			users[in] = append(users[in], o)
		}
	}
	for _, o := range sorted {
		if !isCheap(o) {
			continue
		}
		late := slices.DeleteFunc(slices.Clone(users[port{o, 0}]), func(u *op) bool {
			e, _, _ := elementalOf(u)
			return e == nil || u.at <= o.at+regionWindow
		})
		for len(late) > 0 && waitFor(late[0], o, users) {
			n := *o.node
			n.Name += "/again"
			again := &op{node: &n, index: late[0].index, in: slices.Clone(o.in), def: o.def, feed: -1, at: late[0].at}
			all, copied = append(all, again), append(copied, o)
			end := late[0].at + regionWindow
			for len(late) > 0 && late[0].at <= end {
				for i, in := range late[0].in {
					if in.op == o {
						late[0].in[i] = port{again, 0}
					}
				}
				late = late[1:]
			}
		}
	}
	return withoutUnused(all, copied, fetched)
}

// isCheap reports whether computing the result of o is as fast as reading it.
func isCheap(o *op) bool {
	e, forms, cols := elementalOf(o)
	if e == nil || cols > 0 || len(o.after) > 0 || o.reads != nil {
		return false
	}
	if !e.binary {
		return kernels.UnaryOp(e.op) == kernels.Square || kernels.UnaryOp(e.op) == kernels.Neg
	}
	switch kernels.BinaryOp(e.op) {
	case kernels.Add, kernels.Sub, kernels.Mul:
		return forms[0] == asScalar || forms[1] == asScalar
	}
	return false
}

// waitFor reports whether the operands of o still exist when u runs.
func waitFor(u, o *op, users map[port][]*op) bool {
	return !slices.ContainsFunc(o.in, func(in port) bool {
		if in.op.node.Op == ops.Const.Name && in.op.feed < 0 || len(typeOf(in).Shape.Dims) == 0 {
			return false
		}
		return !slices.ContainsFunc(users[in], func(other *op) bool { return other != o && other.at >= u.at })
	})
}
