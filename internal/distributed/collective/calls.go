package collective

import (
	"context"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// AllReduce replaces the values of tensors, which are float32, float64 or int64, by
// the sum or mean over all workers, in place. All workers pass tensors of the same
// types and sizes in the same order. The results are bitwise equal on all workers.
// After an error the tensors hold neither the old values nor the result.
func (g *Group) AllReduce(ctx context.Context, tensors []*tensor.Tensor, op Op) error {
	stop, err := g.begin(ctx, 0)
	if err != nil {
		return err
	}
	defer g.end(stop)
	p, err := g.plan(op, tensors)
	if err != nil || g.size == 1 {
		return err
	}
	for _, q := range p.passes {
		q.reset(0)
	}
	if p.small {
		return g.executeSmall(&p.schedule)
	}
	return g.execute(&p.schedule)
}

// keptPlans is how many layouts are cached.
const keptPlans = 8

// plan returns the plan for a call, bound to its tensors.
func (g *Group) plan(op Op, tensors []*tensor.Tensor) (*plan, error) {
	i := slices.IndexFunc(g.plans, func(p *plan) bool { return p.fits(op, tensors) })
	if i >= 0 {
		p := g.plans[i]
		copy(g.plans[1:], g.plans[:i])
		g.plans[0] = p
		p.bind(tensors)
		return p, nil
	}
	p, err := g.newPlan(op, tensors)
	if err != nil {
		// The others wait for this worker, and must learn that it will not take part.
		g.kill(err)
		return nil, err
	}
	g.plans = slices.Insert(g.plans, 0, p)
	g.plans = g.plans[:min(len(g.plans), keptPlans)]
	return p, nil
}

// Broadcast replaces the values of tensors, of any type except strings, by the root's.
func (g *Group) Broadcast(ctx context.Context, root int, tensors []*tensor.Tensor) error {
	stop, err := g.begin(ctx, 0)
	if err != nil {
		return err
	}
	defer g.end(stop)
	p := &pass{}
	parts := make([]part, 0, len(tensors))
	for i, t := range tensors {
		if t.DType == tensor.String {
			err = fmt.Errorf("collective: broadcast of tensor %d: strings cannot be sent", i)
		}
		p.add(t.Bytes)
		parts = append(parts, part{t.DType, len(t.Bytes)})
	}
	if root < 0 || root >= g.size {
		err = fmt.Errorf("collective: broadcast from rank %d: expected 0 to %d", root, g.size-1)
	}
	if err != nil {
		g.kill(err)
		return err
	}
	if g.size == 1 {
		return nil
	}
	p.broadcast(root, g.rank, g.size)
	s := &schedule{passes: []*pass{p}}
	s.describe(fmt.Sprintf("broadcast of %d tensors, %d bytes, from rank %d", len(tensors), p.len(), root), parts)
	return g.execute(s)
}

// maxGather bounds the bytes that AllGather returns.
const maxGather = 1 << 30

// AllGather returns the values of all workers, by rank; they may differ in length.
// All together are at most 1 GiB.
func (g *Group) AllGather(ctx context.Context, value []byte) ([][]byte, error) {
	stop, err := g.begin(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer g.end(stop)
	lengths := make([]int64, g.size)
	lengths[g.rank] = int64(len(value))
	table, err := tensor.FromSlice(lengths, g.size)
	if err != nil {
		return nil, err
	}
	if err := g.gather(table.Bytes, evenly(nil, g.size, 8, g.size)); err != nil {
		return nil, err
	}
	bounds := []int{0}
	for r, n := range lengths {
		if n < 0 || n > maxGather || int64(bounds[r])+n > maxGather {
			err := fmt.Errorf("collective: all-gather of %d bytes from rank %d: expected at most %d of all ranks", n, r, maxGather)
			g.kill(err)
			return nil, err
		}
		bounds = append(bounds, bounds[r]+int(n))
	}
	all := make([]byte, bounds[g.size])
	copy(all[bounds[g.rank]:], value)
	if err := g.gather(all, bounds); err != nil {
		return nil, err
	}
	out := make([][]byte, g.size)
	for r := range out {
		out[r] = all[bounds[r]:bounds[r+1]:bounds[r+1]]
	}
	return out, nil
}

// gather fills all along the ring, starting with this worker's own block.
func (g *Group) gather(all []byte, bounds []int) error {
	if g.size == 1 {
		return nil
	}
	p := &pass{}
	p.set(all)
	p.gather(bounds, g.rank)
	s := &schedule{passes: []*pass{p}}
	s.describe("all-gather of bytes", bounds)
	return g.execute(s)
}
