package collective

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// execute runs a schedule: the sender goroutine sends, the caller receives.
func (g *Group) execute(s *schedule) error {
	select {
	case g.jobs <- s:
	case <-g.done:
		return g.Err()
	}
	for _, p := range s.passes {
		if err := g.receivePass(s, p); err != nil {
			g.kill(err)
			break
		}
	}
	// The sender reads the caller's memory until it is done; a dead group's links end.
	<-g.sent
	return g.Err()
}

// sendLoop sends the data of schedules until the group ends.
func (g *Group) sendLoop() {
	defer g.workers.Done()
	for {
		select {
		case <-g.done:
			return
		case s := <-g.jobs:
			for _, p := range s.passes {
				if err := g.sendPass(s, p); err != nil {
					g.kill(err)
					break
				}
			}
			g.sent <- struct{}{}
		}
	}
}

var errDead = errors.New("the group is dead")

func signal(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// sendPass sends this worker's part of a pass as its bytes become ready.
func (g *Group) sendPass(s *schedule, p *pass) error {
	if err := g.awaitTensors(g.wakeSend, p); err != nil {
		return err
	}
	if p.exchange {
		err := g.sendToAll(s, p)
		p.sent.Store(true)
		signal(g.wakeRecv)
		return err
	}
	for _, st := range p.sends {
		for i := range st.chunks() {
			if st.after >= 0 {
				if err := g.awaitChunk(p, p.receives[st.after].first+i); err != nil {
					return err
				}
			}
			lo, hi := st.chunk(i)
			if err := g.send(g.next(), s, p, lo, hi); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *Group) awaitTensors(wake chan struct{}, p *pass) error {
	for p.waiting.Load() > 0 {
		select {
		case <-wake:
		case <-g.done:
			return errDead
		}
	}
	return nil
}

// awaitChunk waits until the received chunk of that number is available.
func (g *Group) awaitChunk(p *pass, chunk int) error {
	for p.received.Load() <= int64(chunk) {
		select {
		case <-g.wakeSend:
		case <-g.done:
			return errDead
		}
	}
	return nil
}

// send sends bytes [lo, hi) of the pass to a peer.
func (g *Group) send(to int, s *schedule, p *pass, lo, hi int) error {
	o := g.out[to]
	h := &o.header
	h.Kind, h.Group, h.Generation, h.Rank = data, g.id, uint64(g.generation), uint64(g.rank)
	h.Call, h.Layout, h.Index = g.call, s.digest, o.index
	n := notice{header: h}
	if o.index == 0 {
		n.text = s.text
	}
	o.index++
	o.body = p.view(o.body[:0], lo, hi)
	err := o.send(n, o.body)
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) { // the link's watcher knows the reason
		t := time.NewTimer(partingTime)
		defer t.Stop()
		select {
		case <-g.done:
		case <-t.C:
		}
		return fmt.Errorf("lost %v: it has left the group", o.peer)
	}
	return peerError(o.peer, err)
}

// receivePass receives this worker's part of a pass.
func (g *Group) receivePass(s *schedule, p *pass) error {
	if err := g.awaitTensors(g.wakeRecv, p); err != nil {
		return err
	}
	if p.exchange {
		return g.receiveFromAll(s, p)
	}
	for _, st := range p.receives {
		for i := range st.chunks() {
			lo, hi := st.chunk(i)
			m, err := g.receive(g.previous(), s, hi-lo)
			if err == nil {
				err = g.place(m, p, st, lo, hi)
			}
			if err != nil {
				return err
			}
			p.received.Add(1)
			signal(g.wakeSend)
		}
	}
	return nil
}

// place stores or adds a message's bytes at their position.
func (g *Group) place(m *cluster.Message, p *pass, st stage, lo, hi int) (err error) {
	g.buffers.parts = p.view(g.buffers.parts[:0], lo, hi)
	for _, dst := range g.buffers.parts {
		if st.add {
			err = g.add(g.previous(), m, p.arithmetic, dst)
		} else {
			err = g.fill(g.previous(), m, dst)
		}
		if err != nil {
			return err
		}
		if st.divide && p.divisor > 0 {
			p.arithmetic.divide(dst, p.divisor)
		}
	}
	return nil
}

// fill reads the next bytes of a message into dst.
func (g *Group) fill(from int, m *cluster.Message, dst []byte) error {
	if _, err := io.ReadFull(m, dst); err != nil {
		return peerError(g.in[from].peer, err)
	}
	return nil
}

// add adds the next bytes of a message to dst.
func (g *Group) add(from int, m *cluster.Message, a *arithmetic, dst []byte) error {
	for len(dst) > 0 {
		block := g.buffers.block[:min(len(dst), readBytes)]
		if err := g.fill(from, m, block); err != nil {
			return err
		}
		for len(block) > 0 {
			n := min(len(block), blockBytes)
			a.add(dst[:n], block[:n])
			dst, block = dst[n:], block[n:]
		}
	}
	return nil
}

// receive returns the next message from a peer, which must carry n bytes of this call.
func (g *Group) receive(from int, s *schedule, n int) (*cluster.Message, error) {
	i := g.in[from]
	m, err := i.receive()
	if err != nil {
		return nil, err
	}
	if err := g.check(i, s, m, n); err != nil {
		return nil, err
	}
	i.index++
	return m, nil
}

// check refuses a message that is not the expected one.
func (g *Group) check(i *inlet, s *schedule, m *cluster.Message, want int) error {
	h, got := &i.header, m.Len()
	switch {
	case h.Kind != data || h.Group != g.id || h.Generation != uint64(g.generation):
		return fmt.Errorf("%v sends to another group: expected generation %d, got %d", i.peer, g.generation, h.Generation)
	case h.Call != g.call:
		return fmt.Errorf("%w: %v is at another call: expected call %d (%s), got call %d (%s)", ErrMismatch, i.peer, g.call, s.text.Text, h.Call, textOf(m.Header).Text)
	case h.Layout != s.digest && h.Index == 0:
		return fmt.Errorf("%w: %v reduces another layout at call %d: expected %s, got %s", ErrMismatch, i.peer, g.call, s.text.Text, textOf(m.Header).Text)
	case h.Layout != s.digest || h.Index != i.index || got != want:
		return fmt.Errorf("%w: %v sends message %d of %d bytes at call %d: expected message %d of %d (%s)", ErrMismatch, i.peer, h.Index, got, g.call, i.index, want, s.text.Text)
	}
	return nil
}
