package costmodel

import "math/rand/v2"

// engine runs events in the order of their times.
type engine struct {
	now    float64
	count  int
	queue  events
	c      Cluster
	shared resource
	cores  resource // handle messages
	random *rand.Rand
}

type event struct {
	at    float64
	order int // among events at the same time
	do    func()
}

func (a event) before(b event) bool { return a.at < b.at || a.at == b.at && a.order < b.order }

// events is a binary heap; the first event is the next.
type events []event

func (q *events) push(x event) {
	*q = append(*q, x)
	h := *q
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

func (q *events) pop() event {
	h := *q
	first, last := h[0], len(h)-1
	h[0], h[last] = h[last], event{}
	h = h[:last]
	*q = h
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < len(h) && h[down+1].before(h[down]) {
			down++
		}
		if down >= len(h) || !h[down].before(h[i]) {
			return first
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}

// after runs do after a delay.
func (e *engine) after(delay float64, do func()) {
	e.queue.push(event{e.now + delay, e.count, do})
	e.count++
}

// run ends when stop returns true, or when no events are left.
func (e *engine) run(stop func() bool) {
	for len(e.queue) > 0 && !stop() {
		next := e.queue.pop()
		e.now = next.at
		next.do()
	}
}

// resource serves one request at a time, first come, first served.
type resource struct{ free float64 }

// take occupies the resource for a duration from start on, or from when it is free, and
// returns when that begins and ends. Bytes from a slower resource, which ends at end, end no
// earlier; in between there is room for others.
func (r *resource) take(start, long, end float64) (from, to float64) {
	from = max(start, r.free)
	r.free = from + long
	return from, max(r.free, end)
}

// port is the link of a task.
type port struct{ in, out resource }

// send moves bytes from a to b and then calls arrived. They pass the sender's link, the
// shared resource and the receiver's link, each as soon as the previous one begins.
func (e *engine) send(a, b *port, bytes float64, arrived func()) {
	e.pass(a, b, bytes, e.handle, func() {}, arrived)
}

// share is send in pieces, which alternate with others as connections share a link.
func (e *engine) share(a, b *port, bytes float64, pieces int, arrived func()) {
	if pieces == 1 {
		e.send(a, b, bytes, arrived)
		return
	}
	piece := bytes / float64(pieces)
	latency := func() float64 { return e.c.Latency } // a message is handled once, with its last piece
	e.pass(a, b, piece, latency, func() { e.share(a, b, bytes-piece, pieces-1, arrived) }, func() {})
}

// pass is send that also reports when the bytes have left.
func (e *engine) pass(a, b *port, bytes float64, latency func() float64, left, arrived func()) {
	from, to := a.out.take(e.now, per(bytes, e.c.Bandwidth), 0)
	e.after(to-e.now, left)
	e.after(from-e.now, func() {
		from, to := e.shared.take(e.now, per(bytes, e.c.Shared), to)
		e.after(from-e.now+latency(), func() {
			_, end := b.in.take(e.now, per(bytes, e.c.Bandwidth), to+e.c.Latency)
			e.after(end-e.now, arrived)
		})
	})
}

// handle is the time to handle one more message from now on.
func (e *engine) handle() float64 {
	if e.c.Cores == 0 {
		return e.c.Latency
	}
	_, end := e.cores.take(e.now, e.c.Latency/float64(e.c.Cores), e.now+e.c.Latency)
	return end - e.now
}
