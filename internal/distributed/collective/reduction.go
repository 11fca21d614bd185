package collective

import (
	"context"
	"sync/atomic"

	"github.com/goestimator/goestimator/tensor"
)

// Reduction is an AllReduce that runs while its tensors are being computed.
type Reduction struct {
	g     *Group
	plan  *plan
	ready []atomic.Bool
	stop  func() bool
	err   error
	done  chan struct{} // holds a token when the reduction has ended
}

func (r *Reduction) init(g *Group, p *plan) {
	*r = Reduction{g: g, plan: p, ready: make([]atomic.Bool, len(p.parts)), done: make(chan struct{}, 1)}
}

// Start begins an AllReduce of tensors whose values come later: call Ready for
// each. Tensors are packed as in AllReduce. Packs are reduced in the order of that
// packing (from the last tensor to the first), even if tensors become ready in
// another order, because the order must be the same on all workers.
//
// A tensor must not be accessed from its Ready until Wait has returned. To cancel a
// reduction, end ctx, which kills the group. The Reduction is valid until the next
// call of Start.
func (g *Group) Start(ctx context.Context, tensors []*tensor.Tensor, op Op) (*Reduction, error) {
	stop, err := g.begin(ctx, len(tensors))
	if err != nil {
		return nil, err
	}
	p, err := g.plan(op, tensors)
	if err != nil {
		g.end(stop)
		return nil, err
	}
	r := &p.r
	r.stop, r.err = stop, nil
	select {
	case <-r.done: // the last one was not waited for
	default:
	}
	for i := range r.ready {
		r.ready[i].Store(false)
	}
	for _, q := range p.passes {
		q.reset(len(q.tensors))
	}
	select {
	case g.runs <- p:
		return r, nil
	case <-g.done:
		g.end(stop)
		return nil, g.Err()
	}
}

// Ready reports that tensor i has its value. It may be called from any goroutine; a
// second call for the same tensor, or one for an unknown tensor, does nothing.
func (r *Reduction) Ready(i int) {
	if i < 0 || i >= len(r.ready) || !r.ready[i].CompareAndSwap(false, true) {
		return
	}
	r.g.at.ready()
	if r.plan.passes[r.plan.pass[i]].waiting.Add(-1) == 0 {
		signal(r.g.wakeSend)
		signal(r.g.wakeRecv)
	}
}

// Wait returns when all tensors hold their results, or the group is dead. It must
// be called once.
func (r *Reduction) Wait() error {
	<-r.done
	return r.err
}

// reduceLoop runs the reductions that Start begins, until the group ends.
func (g *Group) reduceLoop() {
	defer g.workers.Done()
	for {
		select {
		case <-g.done:
			return
		case p := <-g.runs:
			if g.size > 1 {
				p.r.err = g.execute(&p.schedule)
			}
			g.end(p.r.stop)
			p.r.done <- struct{}{}
		}
	}
}
