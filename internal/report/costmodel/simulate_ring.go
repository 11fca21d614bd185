package costmodel

// ringWorker is one worker of a simulated ring; it sends to the next one. Buckets are counted over all steps.
type ringWorker struct {
	port
	ready  int         // buckets whose local gradients are complete
	bucket int         // the current bucket
	sent   int         // rounds of the current bucket
	got    map[int]int // rounds that were received and added, by bucket: the neighbour may be ahead
}

// ring is a simulated all-reduce job.
type ring struct {
	e       *engine
	j       Job
	parts   int // buckets of a step; sparse gradients, if any, are the last
	done    int // workers' steps
	bytes   float64
	workers []*ringWorker
}

func simulateRing(e *engine, j Job, steps int) Simulated {
	r := &ring{e: e, j: j, parts: j.buckets()}
	if j.Rows > 0 {
		r.parts++
	}
	for range e.c.Workers {
		r.workers = append(r.workers, &ringWorker{got: map[int]int{}})
	}
	for i := range r.workers {
		r.step(i)
	}
	n := steps * len(r.workers)
	e.run(func() bool { return r.done >= n })
	return Simulated{Step: e.now / float64(steps), Rate: float64(n) / e.now, Bytes: r.bytes / float64(n)}
}

// step starts a worker's computation, during which its buckets become ready.
func (r *ring) step(i int) {
	compute := r.e.compute(r.j)
	for k := range r.parts {
		at := compute
		if k < r.j.buckets() {
			at = r.j.ready(k, compute)
		}
		r.e.after(at, func() {
			r.workers[i].ready++
			r.advance(i)
		})
	}
}

// shape is how a bucket is reduced.
type shape struct {
	sends, gets int // messages
	bytes       float64
	direct      bool // to all others at once
	adds        int  // how many of the messages the receiver adds
}

func (r *ring) shape(bucket int) shape {
	n, bytes := len(r.workers), r.j.Dense/float64(r.j.buckets())
	switch {
	case bucket%r.parts == r.j.buckets():
		return shape{sends: n - 1, gets: n - 1, bytes: r.j.Rows}
	case bytes == 0:
		return shape{}
	case r.j.direct(n):
		return shape{sends: n - 1, gets: n - 1, bytes: bytes, direct: true, adds: n - 1}
	}
	return shape{sends: 2 * (n - 1), gets: 2 * (n - 1), bytes: bytes / float64(n), adds: n - 1}
}

// advance lets a worker do as much as it can.
func (r *ring) advance(i int) {
	w := r.workers[i]
	for w.bucket < w.ready {
		s := r.shape(w.bucket)
		for w.sent < s.sends && (s.direct || w.sent <= w.got[w.bucket]) {
			to := i + 1
			if s.direct {
				to += w.sent
			}
			r.send(w, to%len(r.workers), s, w.bucket)
			w.sent++
		}
		if w.got[w.bucket] < s.gets {
			return
		}
		delete(w.got, w.bucket)
		w.bucket, w.sent = w.bucket+1, 0
		if w.bucket%r.parts == 0 {
			r.done++
			r.step(i)
		}
	}
}

func (r *ring) send(w *ringWorker, to int, s shape, bucket int) {
	r.bytes += s.bytes
	delay := 0.0
	if w.sent < s.adds {
		delay = per(s.bytes, r.j.Add)
	}
	next := r.workers[to]
	r.e.send(&w.port, &next.port, s.bytes, func() {
		r.e.after(delay, func() {
			next.got[bucket]++
			r.advance(to)
		})
	})
}
