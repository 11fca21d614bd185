package engine

import (
	"context"
	"time"

	"github.com/goestimator/goestimator/internal/platform/timeline"
)

// NodeTime is the time of one node over all runs: how often it ran, its total time, and its work by Cost. Op names the
// parts of a fused node: MatMul+BiasAdd+Relu. On an accelerator each node is launched and waited for by itself, which takes
// longer than a run without Options.Profile.
type NodeTime struct {
	Op, Node     string
	Count        int
	Total        time.Duration
	Flops, Bytes int64
}

// stepTime accumulates a step's NodeTime.
type stepTime struct {
	count        int
	total        time.Duration
	flops, bytes int64
	batch        int // the batch size of unit
	unit         struct{ flops, bytes int64 }
}

// measure starts to time a run of s; calling the result stops it.
func (s *step) measure(batch int) func() {
	t := &s.profile
	if t.batch != batch {
		t.batch = batch
		t.unit.flops, t.unit.bytes = Cost(s.op.asNode(), batch)
		if r := s.op.fusion; r != nil {
			for _, n := range r.nodes {
				flops, _ := Cost(n, batch)
				t.unit.flops += flops
			}
		}
	}
	start := time.Now()
	return func() {
		t.total += time.Since(start)
		t.count++
		t.flops += t.unit.flops
		t.bytes += t.unit.bytes
	}
}

// show begins the event of a step in the current capture; calling the result ends it.
func (s *state) show(x *step) func() {
	ctx := s.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	_, end := timeline.Begin(ctx, timeline.Event{Line: timeline.Runs, Name: x.op.node.Name, Op: x.op.label()})
	return end
}

// Profile returns the times of all nodes in the order in which they run. Without Options.Profile they are zero.
func (p *Program) Profile() []NodeTime {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []NodeTime
	for _, steps := range p.byFrequency {
		for _, s := range steps {
			t := s.profile
			all = append(all, NodeTime{s.op.label(), s.op.node.Name, t.count, t.total, t.flops, t.bytes})
		}
	}
	return all
}
