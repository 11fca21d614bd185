package collective

// A small pack is not worth the 2(N-1) hops of the ring: every worker sends its
// whole pack to every other, and adds all of them in the order of the ranks.

// executeSmall runs a schedule of exchanges that are small enough to be sent
// without a goroutine that waits for buffer space.
func (g *Group) executeSmall(s *schedule) error {
	for _, p := range s.passes {
		if err := g.sendToAll(s, p); err != nil {
			g.kill(err)
			return g.Err()
		}
		p.sent.Store(true)
	}
	for _, p := range s.passes {
		if err := g.receiveFromAll(s, p); err != nil {
			g.kill(err)
			break
		}
	}
	return g.Err()
}

// sendToAll sends this worker's pack to all others.
func (g *Group) sendToAll(s *schedule, p *pass) error {
	for i := 1; i < g.size; i++ {
		if err := g.send((g.rank+i)%g.size, s, p, 0, p.len()); err != nil {
			return err
		}
	}
	return nil
}

// receiveFromAll adds up all packs and replaces this worker's by the sum once it
// was sent.
func (g *Group) receiveFromAll(s *schedule, p *pass) error {
	n := p.len()
	sum := g.buffers.sum[:n]
	g.buffers.parts = p.view(g.buffers.parts[:0], 0, n)
	for r := range g.size {
		if err := g.addRank(s, p, r, sum); err != nil {
			return err
		}
	}
	if p.divisor > 0 {
		p.arithmetic.divide(sum, p.divisor)
	}
	for !p.sent.Load() {
		select {
		case <-g.wakeRecv:
		case <-g.done:
			return errDead
		}
	}
	for _, dst := range g.buffers.parts {
		sum = sum[copy(dst, sum):]
	}
	return nil
}

// addRank adds the pack of rank r to the sum, which starts with the pack of rank
// 0.
func (g *Group) addRank(s *schedule, p *pass, r int, sum []byte) error {
	if r == g.rank {
		for _, part := range g.buffers.parts {
			if r == 0 {
				copy(sum, part)
			} else {
				p.arithmetic.add(sum[:len(part)], part)
			}
			sum = sum[len(part):]
		}
		return nil
	}
	m, err := g.receive(r, s, len(sum))
	if err != nil {
		return err
	}
	if r == 0 {
		return g.fill(r, m, sum)
	}
	return g.add(r, m, p.arithmetic, sum)
}
