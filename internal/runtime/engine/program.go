package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/platform/timeline"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// Program is a compiled graph: a plan and its executor on a device. It is safe for concurrent use, and does one run at a time.
// The next run overwrites what Value returned.
type Program struct {
	*state
	exec executor
	pipe pipeline

	mu     sync.Mutex
	ready  []atomic.Bool // which results the last run has made; also read during the run
	closed bool
}

// newProgram makes the executor of a plan, with memory for the planned batch.
func newProgram(plan *plan, t target, dev device.Device, vars *Variables) (*Program, error) {
	p := &Program{state: &state{plan: plan, dev: dev, vars: vars, allow: plan.options.Allow}, ready: make([]atomic.Bool, len(plan.fetched))}
	stream, err := dev.NewStream()
	if err != nil {
		plan.releaseWeights(vars)
		return nil, err
	}
	p.stream = stream
	if p.exec, p.pipe, err = t.open(p.state); err == nil {
		err = p.exec.reserve(max(plan.options.Capacity, 1))
	}
	p.allow = nil
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Capacity returns the number of batch rows that memory is planned for.
func (p *Program) Capacity() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.capacity
}

// Memory returns how many bytes the program holds for its values and constants, without variables and packed weights.
func (p *Program) Memory() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, b := range []device.Buffer{p.consts, p.arena} {
		if b != nil {
			n += b.Len()
		}
	}
	return n
}

// Packed returns how many bytes the program's own packed constants hold.
func (p *Program) Packed() (n int64) {
	for _, w := range p.own {
		n += w.memory()
	}
	return n
}

// Run runs one batch of the given number of rows. If they exceed the capacity, the program grows, once. Feeds are in the
// order of Spec.Feeds and must stay unchanged until Run returns, or as long as fetches of the feeds themselves are used.
// An error, a cancelled ctx included, leaves all variables as they were, unless a kernel failed after the first update.
// If a kernel panics, the error is a *PanicError.
func (p *Program) Run(ctx context.Context, batch int, feeds []*tensor.Tensor) error {
	return p.runBatch(ctx, batch, feeds, p.exec)
}

// open invalidates the results of the last run, and fails if no run can begin.
func (p *Program) open(ctx context.Context) error {
	p.dropResults()
	if p.closed {
		return ErrClosed
	}
	return ctx.Err()
}

// runBatch prepares for a batch and runs it with the feeds that the feeder provides.
func (p *Program) runBatch(ctx context.Context, batch int, feeds []*tensor.Tensor, from feeder) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.open(ctx); err != nil {
		return err
	}
	if timeline.Active() != nil {
		var end func()
		ctx, end = timeline.Begin(ctx, timeline.Event{Line: timeline.Runs, Name: "program", Stats: []timeline.Stat{{Name: "rows", Number: int64(batch)}}})
		defer end()
	}
	if batch < 1 {
		return fmt.Errorf("run: expected a batch of at least 1 row, got %d", batch)
	}
	defer p.recovered(&err)
	if err := p.checkFeeds(batch, feeds); err != nil {
		return err
	}
	if err := p.exec.prepare(batch); err != nil {
		return p.fail(err)
	}
	if err := from.feed(feeds); err != nil {
		return p.fail(err)
	}
	if err := p.runPhases(ctx); err != nil {
		return p.fail(err)
	}
	return nil
}

// fail ends a failed run, so that nothing uses the caller's memory any more. It returns the error, with the node of a fault.
func (p *Program) fail(err error) error {
	_ = p.stream.Synchronize()
	p.end()
	p.at, p.batch = nil, 0 // values that depend on the batch size may be incomplete
	p.dropResults()
	return p.nameFault(err)
}

// recovered turns a panic into an error, so that a bug in one op does not end the process.
func (p *Program) recovered(err *error) {
	r := recover()
	if r == nil {
		return
	}
	*err = p.fail(newPanicError(r, p.at))
}

// runPhases does the phases of a run in order and reports complete fetches.
func (p *Program) runPhases(ctx context.Context) error {
	p.vars.begin(p.plan)
	defer p.vars.end(p.plan)
	p.begin(ctx)
	defer p.end()
	for i := range p.phases {
		if err := p.exec.runPhase(i); err != nil {
			return err
		}
		for _, f := range p.phases[i].fetches {
			p.ready[f].Store(true)
			if p.options.OnFetch != nil {
				p.options.OnFetch(f)
			}
		}
	}
	return nil
}

// Close frees the program's memory; the variables stay. Runs then fail with ErrClosed; a second Close does nothing.
func (p *Program) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	p.dropResults()
	p.releaseWeights(p.vars)
	return p.exec.close()
}
