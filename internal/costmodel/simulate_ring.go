package costmodel

// ringWorker is one worker of a simulated ring. Buckets are counted over all steps.
type ringWorker struct {
	port
	next   *ringWorker
	ready  int         // buckets whose gradients of its own are complete
	bucket int         // the one that it works at
	sent   int         // rounds of that
	got    map[int]int // rounds that arrived and were added, by bucket: the neighbour may be ahead
}

// ring is a simulated all-reduce job.
type ring struct {
	e       *engine
	j       Job
	parts   int // buckets of a step; the sparse gradients are the last, if there are any
	done    int // steps of workers
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
	for i, w := range r.workers {
		w.next = r.workers[(i+1)%len(r.workers)]
		r.step(w)
	}
	n := steps * len(r.workers)
	e.run(func() bool { return r.done >= n })
	return Simulated{Step: e.now / float64(steps), Rate: float64(n) / e.now, Bytes: r.bytes / float64(n)}
}

// step starts a worker's computing, on the way of which its buckets become ready.
func (r *ring) step(w *ringWorker) {
	compute := r.e.compute(r.j)
	for k := range r.parts {
		at := compute
		if k < r.j.buckets() {
			at = r.j.ready(k, compute)
		}
		r.e.after(at, func() {
			w.ready++
			r.advance(w)
		})
	}
}

// shape is the number of rounds of a bucket and the bytes of a message in it.
func (r *ring) shape(bucket int) (rounds int, chunk float64, adds bool) {
	n := len(r.workers)
	if bucket%r.parts == r.j.buckets() {
		return n - 1, r.j.Rows, false
	}
	if r.j.Dense == 0 {
		return 0, 0, false
	}
	return 2 * (n - 1), r.j.Dense / float64(r.j.buckets()) / float64(n), true
}

// advance lets a worker do all that it can.
func (r *ring) advance(w *ringWorker) {
	for w.bucket < w.ready {
		rounds, chunk, adds := r.shape(w.bucket)
		for w.sent < rounds && w.sent <= w.got[w.bucket] {
			r.send(w, w.bucket, chunk, adds && w.sent < rounds/2)
			w.sent++
		}
		if w.got[w.bucket] < rounds {
			return
		}
		delete(w.got, w.bucket)
		w.bucket, w.sent = w.bucket+1, 0
		if w.bucket%r.parts == 0 {
			r.done++
			r.step(w)
		}
	}
}

func (r *ring) send(w *ringWorker, bucket int, chunk float64, adds bool) {
	r.bytes += chunk
	delay := 0.0
	if adds {
		delay = per(chunk, r.j.Add)
	}
	r.e.send(&w.port, &w.next.port, chunk, func() {
		r.e.after(delay, func() {
			w.next.got[bucket]++
			r.advance(w.next)
		})
	})
}
