package costmodel

// pieces is the number of pieces in which messages between a task and several others
// alternate; messages to many servers are short anyway.
func pieces(servers int) int { return max(1, 16/servers) }

// psWorker is one worker of a simulated job with parameter servers.
type psWorker struct {
	port
	index   int
	version int // of the pulled values
	pending int // messages until the worker continues
}

// psServer is one parameter server.
type psServer struct {
	port
	apply resource
}

// psJob is a simulated job with parameter servers.
type psJob struct {
	e       *engine
	j       Job
	sync    bool
	pieces  int
	part    float64 // bytes of a message with gradients or values
	servers []*psServer
	waiting []*psWorker // workers that wait for the next version
	version int         // steps applied
	arrived int         // workers whose gradients of the current version were applied
	steps   int         // workers' steps
	dropped int
	bytes   float64
}

func simulateServers(e *engine, j Job, steps int, sync bool) Simulated {
	p := &psJob{e: e, j: j, sync: sync, pieces: pieces(e.c.Servers), part: (j.Dense + j.Rows) / float64(e.c.Servers)}
	for range e.c.Servers {
		p.servers = append(p.servers, &psServer{})
	}
	n := e.c.Workers
	for i := range n {
		p.pull(&psWorker{index: i})
	}
	e.run(func() bool { return p.steps >= steps*n })
	done := float64(p.steps)
	return Simulated{Step: e.now * float64(n) / done, Rate: (done - float64(p.dropped)) / e.now, Dropped: float64(p.dropped) / done, Bytes: p.bytes / done}
}

// each calls do for every server; each worker begins with a different one.
func (p *psJob) each(w *psWorker, do func(*psServer)) {
	w.pending = len(p.servers)
	for i := range p.servers {
		do(p.servers[(w.index+i)%len(p.servers)])
	}
}

// arrive calls then when the last of a worker's messages has arrived.
func (w *psWorker) arrive(then func()) {
	if w.pending--; w.pending == 0 {
		then()
	}
}

// pull requests the values of all servers, and computes once they have arrived.
func (p *psJob) pull(w *psWorker) {
	w.version = p.version
	p.each(w, func(s *psServer) {
		p.e.after(p.e.handle(), func() {
			p.bytes += p.part
			p.e.share(&s.port, &w.port, p.part, p.pieces, func() {
				w.arrive(func() { p.e.after(p.e.compute(p.j), func() { p.push(w) }) })
			})
		})
	})
}

// push sends the gradients to all servers, which apply them one worker after the other.
func (p *psJob) push(w *psWorker) {
	p.each(w, func(s *psServer) {
		p.bytes += p.part
		p.e.share(&w.port, &s.port, p.part, p.pieces, func() {
			long := per(p.part, p.j.Apply)
			if p.sync && w.version < p.version {
				long = 0 // too late
			}
			_, end := s.apply.take(p.e.now, long, 0)
			p.e.after(end-p.e.now+p.e.handle(), func() { w.arrive(func() { p.pushed(w) }) })
		})
	})
}

// pushed runs when all servers have applied a worker's gradients.
func (p *psJob) pushed(w *psWorker) {
	p.steps++
	switch {
	case !p.sync:
		p.pull(w)
	case w.version < p.version:
		p.dropped++
		p.pull(w)
	default:
		p.waiting = append(p.waiting, w)
		if p.arrived++; p.arrived == p.e.c.Workers-p.j.Backup {
			all := p.waiting
			p.waiting, p.arrived = nil, 0
			p.version++
			for _, w := range all {
				p.pull(w)
			}
		}
	}
}
