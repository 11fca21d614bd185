package engine

import (
	"container/heap"
	"fmt"
	"slices"
)

// order sorts ops so that each follows its dependencies: updates of variables last, with hurry ops that make fetches
// first, and otherwise in the graph's order.
func order(ops []*op, fetched []port, hurry bool) ([]*op, error) {
	early := map[*op]bool{}
	for _, f := range fetched {
		if hurry {
			early[f.op] = true
		}
	}
	control := make([][]*op, len(ops))
	for i, o := range ops {
		control[i] = slices.Clone(o.after)
	}
	sorted, err := sortOps(ops, early)
	if err != nil {
		return nil, err
	}
	// Unordered writes of one variable keep the order of the sort, which is the graph's.
	orderEffects(sorted, fetched, false)
	if again, err := sortOps(ops, early); err == nil {
		return again, nil
	}
	// Reads that share storage can wait for each other in a cycle; copies do not.
	for i, o := range ops {
		o.after, o.copy = control[i], false
	}
	orderEffects(sorted, fetched, true)
	if sorted, err = sortOps(ops, early); err != nil {
		return nil, fmt.Errorf("reads and writes of variables contradict each other: %w", err)
	}
	return sorted, nil
}

// sortOps is Kahn's algorithm with a priority queue.
func sortOps(ops []*op, early map[*op]bool) ([]*op, error) {
	late := descendantsOfWrites(ops)
	waits := make(map[*op]int, len(ops))
	next := make(map[*op][]*op, len(ops))
	for _, o := range ops {
		for _, d := range dependencies(o) {
			next[d] = append(next[d], o)
			waits[o]++
		}
	}
	q := &queue{late: late, early: early}
	for _, o := range ops {
		if waits[o] == 0 {
			q.ops = append(q.ops, o)
		}
	}
	heap.Init(q)
	sorted := make([]*op, 0, len(ops))
	for q.Len() > 0 {
		o := heap.Pop(q).(*op)
		sorted = append(sorted, o)
		for _, n := range next[o] {
			if waits[n]--; waits[n] == 0 {
				heap.Push(q, n)
			}
		}
	}
	if len(sorted) == len(ops) {
		return sorted, nil
	}
	for _, o := range ops {
		if waits[o] > 0 {
			return nil, fmt.Errorf("node %s waits for itself: %w", o.node.Name, ErrCycle)
		}
	}
	return nil, ErrCycle
}

func dependencies(o *op) []*op {
	deps := make([]*op, 0, len(o.in)+len(o.after))
	for _, in := range o.in {
		deps = append(deps, in.op)
	}
	return append(deps, o.after...)
}

// descendantsOfWrites returns the writes and all ops that must follow a write. They come last, so that a run can be
// cancelled until the first of them. It iterates to a fixed point, since ops may be in any order.
func descendantsOfWrites(ops []*op) map[*op]bool {
	late := map[*op]bool{}
	for grew := true; grew; {
		grew = false
		for _, o := range ops {
			if late[o] {
				continue
			}
			if len(o.write) > 0 || slices.ContainsFunc(dependencies(o), func(d *op) bool { return late[d] }) {
				late[o], grew = true, true
			}
		}
	}
	return late
}

// queue is a heap of ready ops: late ops come last, early ops first, otherwise in the graph's order.
type queue struct {
	ops         []*op
	late, early map[*op]bool
}

func (q *queue) Len() int      { return len(q.ops) }
func (q *queue) Swap(i, j int) { q.ops[i], q.ops[j] = q.ops[j], q.ops[i] }
func (q *queue) Push(x any)    { q.ops = append(q.ops, x.(*op)) }
func (q *queue) Pop() any {
	last := q.ops[len(q.ops)-1]
	q.ops = q.ops[:len(q.ops)-1]
	return last
}
func (q *queue) Less(i, j int) bool {
	a, b := q.ops[i], q.ops[j]
	if q.late[a] != q.late[b] {
		return q.late[b]
	}
	if q.early[a] != q.early[b] {
		return q.early[a]
	}
	if a.index != b.index {
		return a.index < b.index
	}
	return a.feed < b.feed
}
