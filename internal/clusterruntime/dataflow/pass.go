package dataflow

import "github.com/goestimator/goestimator/internal/imported/eager"

// pass sends the outputs of a task to the nodes that wait for them, and returns the tasks that are then ready.
func (r *run) pass(t task, out []token) (ready []task, err error) {
	n := &r.p.nodes[t.node]
	it := t.at
	ends := it.frame // the frame in which something may have ended
	ready = r.passed[:0]
	switch n.role {
	case enter:
		ends = it.child(n.enters)
		ready = r.enter(ends, arrival{t.node, out[0]})
	case exit:
		if out[0].live {
			if err := it.frame.leave(t.node); err != nil {
				return nil, &eager.Error{Node: n.source.Name, Op: n.source.Op, Err: err}
			}
			ready = r.arrive(ready, it.frame.parent, arrivals{t.node, out, false})
		} else if it.number == it.frame.begun-1 {
			it.frame.deadExits = append(it.frame.deadExits, t.node)
		}
	case next:
		if out[0].live {
			ready = r.next(it, arrival{t.node, out[0]})
		}
	default:
		ready = r.arrive(ready, it, arrivals{t.node, out, t.dead})
	}
	for i := range ready {
		ready[i].at.busy++
	}
	it.busy--
	return r.settle(ends, ready), nil
}

// enter brings a value into a loop: to its first iteration, or to all of them if it is constant.
func (r *run) enter(f *frame, a arrival) (ready []task) {
	f.entering--
	if !r.p.nodes[a.node].constant {
		return r.arrive(nil, f.iterations[0], a.all())
	}
	f.invariants = append(f.invariants, a)
	for _, it := range f.iterations {
		ready = r.arrive(ready, it, a.all())
	}
	return ready
}

// next brings a value to the next iteration, which begins with it. If enough iterations are running, the value waits.
func (r *run) next(it *iteration, a arrival) (ready []task) {
	f := it.frame
	following := it.after()
	if following == nil {
		if len(f.iterations) >= r.p.frames[f.shape].parallel {
			f.waiting = append(f.waiting, a)
			return nil
		}
		following, ready = r.begin(f)
	}
	return r.arrive(ready, following, a.all())
}

// begin starts an iteration with the values that all iterations share.
func (r *run) begin(f *frame) (it *iteration, ready []task) {
	it = f.begin()
	for _, a := range f.invariants {
		ready = r.arrive(ready, it, a.all())
	}
	return it, ready
}

// arrivals are all outputs of a node. Control edges are dead if the node was.
type arrivals struct {
	node int32
	out  []token
	dead bool
}

// all is the only output of a node.
func (a arrival) all() arrivals { return arrivals{a.node, []token{a.out}, !a.out.live} }

// arrive brings the outputs of a node to all following nodes in an iteration.
func (r *run) arrive(ready []task, it *iteration, a arrivals) []task {
	for _, e := range r.p.nodes[a.node].out {
		v := token{live: !a.dead}
		if e.output != control {
			v = a.out[e.output]
		}
		if ok, dead := r.p.nodes[e.to].take(it, e, v); ok {
			ready = append(ready, task{e.to, it, dead})
		}
	}
	return ready
}

// take records that an input of a node has arrived, and reports whether the node can run, and whether it is dead.
func (n *node) take(it *iteration, e edge, v token) (ok, dead bool) {
	s := &it.nodes[n.local]
	if n.role == merge {
		return n.takeFirst(it, e, v)
	}
	if e.output != control && v.live {
		it.inputs[n.firstInput+e.input] = v
	}
	if !v.live && n.role != trigger {
		s.dead++
	}
	s.pending--
	return s.pending == 0, s.dead > 0
}

// takeFirst is take for a Merge. It runs when all control edges have arrived, and one value or only dead ones. The lowest bit of
// pending is set until a value has arrived, or the node is dead; control edges count two. If a dead value enters a loop, no other
// value comes from the previous iteration.
func (n *node) takeFirst(it *iteration, e edge, v token) (ok, dead bool) {
	s := &it.nodes[n.local]
	switch {
	case e.output == control:
		s.pending -= 2
		dead = s.pending == 1 && s.dead >= n.inputs
		if dead {
			s.pending = 0
		}
		return s.pending == 0, dead
	case v.live:
		first := s.pending&1 == 1
		if first {
			it.inputs[n.firstInput+e.input] = v
			s.pending--
		}
		return first && s.pending == 0, false
	}
	s.dead++
	if s.pending != 1 || s.dead < n.inputs && !e.enters {
		return false, false
	}
	s.pending = 0
	return true, true
}

// settle ends iterations of f in which nothing more can happen, and frames without iterations.
func (r *run) settle(f *frame, ready []task) []task {
	for f.parent != nil {
		for len(f.iterations) > 0 && f.iterations[0].over() {
			f.iterations = f.iterations[1:]
			if len(f.waiting) > 0 {
				ready = r.resume(f, ready)
			}
		}
		if len(f.iterations) > 0 {
			return ready
		}
		parent := f.parent
		delete(parent.children, f.shape)
		for _, node := range f.deadExits {
			if f.left[node] {
				continue
			}
			for _, t := range r.arrive(nil, parent, arrival{node: node}.all()) {
				parent.busy++
				ready = append(ready, t)
			}
		}
		f = parent.frame
	}
	return ready
}

// resume starts the iteration for which values are waiting.
func (r *run) resume(f *frame, ready []task) []task {
	values := f.waiting
	f.waiting = nil
	it, more := r.begin(f)
	for _, a := range values {
		more = r.arrive(more, it, a.all())
	}
	for _, t := range more {
		t.at.busy++
	}
	return append(ready, more...)
}
