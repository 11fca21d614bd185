package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// Program is a compiled graph. It is safe for concurrent use, one run at a time; what Value returned is overwritten by
// the next run.
type Program struct {
	dev    device.Device
	vars   *Variables
	opts   Options
	stream device.Stream

	ops         []*op
	steps       []*step
	byFrequency [perRun + 1][]*step
	feeds       []*feed
	fetched     []port

	mu     sync.Mutex
	arena  device.Buffer
	consts []device.Buffer
	// feedViews are reshapes of feeds on the host.
	feedViews []*value
	capacity  int
	batch     int  // of the last run, 0 after a plan
	fresh     bool // steps of stage perCompile have yet to run
	updates   bool // some step writes a variable
	results   []*tensor.Tensor
	ready     []atomic.Bool // which results the last run has given; also read while it goes on
	phases    []phase
	written   map[*variable]bool
	changing  map[*variable]bool // whose values are not the same from run to run
	weights   []weightsKey       // of weights shared with other programs
	exec      execution
	at        *step // what runs, for the error of a panic
	closed    bool
	allow     func(bytes int) error // nil: memory may be allocated
	lowered   *lowered              // on an accelerator, else nil
}

// step is an op that computes.
type step struct {
	op      *op
	compute runFunc // of steps on the host, or on a device that runs Go code
	onBatch func() error
	in, out []*value
	profile stepTime

	index int     // among the steps of a run, in the order in which they would run one by one
	needs []*step // that have to be done before
	alone float64 // nanoseconds that it is estimated to take on one worker
	level int     // while parallel groups are formed: see groupBuilder.wait

	operation *Operation // on an accelerator; nil on the host beside it
	workspace *value     // of the operation: set by plan
	grown     int        // bytes of workspace that a batch has needed
}

// Capacity returns the number of batch rows that memory is planned for.
func (p *Program) Capacity() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.capacity
}

// Memory returns how many bytes the program holds for values and constants of its own; variables and packed weights are
// shared with others.
func (p *Program) Memory() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	if p.arena != nil {
		n = p.arena.Len()
	}
	for _, c := range p.consts {
		n += c.Len()
	}
	return n
}

// Run runs one batch of the given number of rows, which may exceed the capacity: the program then grows, once. Feeds
// are in Spec.Feeds's order and must stay unchanged until Run returns, or for as long as fetches of the feeds
// themselves are used. An error, a cancelled ctx included, leaves all variables as they were, unless a kernel failed
// after the first update. A kernel that panics is a *PanicError.
func (p *Program) Run(ctx context.Context, batch int, feeds []*tensor.Tensor) error {
	return p.runBatch(ctx, batch, feeds, nil)
}

// runBatch runs a batch, whose feeds may be in a set of the device's memory already.
func (p *Program) runBatch(ctx context.Context, batch int, feeds []*tensor.Tensor, set *feedSet) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropResults()
	if p.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if batch < 1 {
		return fmt.Errorf("run: expected a batch of at least 1 row, got %d", batch)
	}
	defer p.recovered(&err)
	if p.lowered != nil && p.lowered.enqueued {
		if err := p.idle(); err != nil {
			return err
		}
	}
	if batch > p.capacity || p.lowered != nil && batch != p.batch && p.lowered.outgrown(batch) {
		if err := p.plan(max(batch, p.capacity)); err != nil {
			return err
		}
	}
	if p.lowered != nil {
		defer p.settleFailure(&err)
	}
	if err := p.bindFeeds(batch, feeds, set); err != nil {
		return err
	}
	rebatch := batch != p.batch
	if rebatch { // only now: from here on what depends on the batch size is made, or the run fails
		if err := p.resize(batch); err != nil {
			return err
		}
	}
	p.exec.ctx, p.exec.rebatch = ctx, rebatch
	err = p.runPhases()
	p.exec.ctx, p.exec.done = nil, nil
	if err != nil {
		p.batch = 0 // what depends on the batch size may be half made
		p.dropResults()
	}
	return err
}

// settleFailure leaves an accelerator idle after a run that failed.
func (p *Program) settleFailure(err *error) {
	if *err != nil {
		p.lowered.drain()
		*err = p.lowered.nameFault(*err)
	}
}

// recovered makes an error of a panic. It is the boundary that keeps a mistake of one op from ending the process.
func (p *Program) recovered(err *error) {
	r := recover()
	if r == nil {
		return
	}
	*err = newPanicError(r, p.at)
	if p.lowered != nil {
		p.lowered.drain()
	}
	p.exec.ctx, p.exec.done, p.at, p.batch = nil, nil, nil, 0
	p.dropResults()
}

// runPhases runs the steps, phase by phase, and brings the fetches to the host.
func (p *Program) runPhases() error {
	if p.updates {
		p.vars.lock(p)
		defer p.vars.mu.Unlock()
		for v := range p.written {
			v.version++
		}
	} else {
		p.vars.rlock(p)
		defer p.vars.mu.RUnlock()
	}
	p.exec.done = p.exec.ctx.Done()
	for i, r := range p.phases {
		p.exec.phase = i
		if err := p.runPhase(i); err != nil {
			return err
		}
		if err := p.download(r.fetches); err != nil {
			return err
		}
		if err := p.stream.Synchronize(); err != nil {
			return err
		}
		for _, f := range r.fetches {
			p.ready[f].Store(true)
			if p.opts.OnFetch != nil {
				p.opts.OnFetch(f)
			}
		}
	}
	return nil
}

// runPhase runs the steps of a phase, or issues them.
func (p *Program) runPhase(i int) error {
	if p.lowered != nil {
		return p.lowered.runPhase(i)
	}
	return p.stream.Launch(&p.exec)
}

// resize sets all sizes for a batch and lets steps prepare for it.
func (p *Program) resize(batch int) error {
	p.batch = 0
	for _, o := range p.ops {
		for i, v := range o.out {
			if !v.resize(batch) {
				return fmt.Errorf("node %s (%s): output %d of shape %v has a negative size for a batch of %d", o.node.Name, o.node.Op, i, v.typ.Shape, batch)
			}
		}
	}
	for _, s := range p.steps {
		if s.onBatch == nil {
			continue
		}
		p.at = s
		if err := s.onBatch(); err != nil {
			return fmt.Errorf("node %s (%s), batch of %d: %w", s.op.node.Name, s.op.node.Op, batch, err)
		}
	}
	p.at = nil
	p.resizeResults()
	if p.lowered != nil {
		if err := p.lowered.bind(batch); err != nil {
			return err
		}
	}
	p.batch = batch
	return nil
}

// execution is a phase of the run as one kernel of the device.
type execution struct {
	p       *Program
	ctx     context.Context
	done    <-chan struct{} // of ctx, nil from the first update on: then the run is completed
	rebatch bool
	phase   int
}

// Run implements device.GoKernel.
func (e *execution) Run() error {
	p := e.p
	if e.phase == 0 {
		if err := e.prepare(); err != nil {
			return err
		}
	}
	if err := e.runGroups(p.phases[e.phase].groups); err != nil {
		if ctxErr := e.ctx.Err(); err == errStopped && ctxErr != nil {
			return ctxErr
		}
		return err
	}
	return nil
}

// prepare runs what need not run each time, to its end: it is not to be left half made.
func (e *execution) prepare() error {
	p := e.p
	if p.fresh {
		if err := p.runSteps(p.byFrequency[perCompile]); err != nil {
			return err
		}
		p.fresh = false
	}
	if e.rebatch {
		return p.runSteps(p.byFrequency[perBatchSize])
	}
	return nil
}

// runGroups runs parallel groups until it is stopped. In the first that writes, all steps write: see groupSteps.
func (e *execution) runGroups(groups []parallelGroup) error {
	for i := range groups {
		t := &groups[i]
		if len(t.steps[0].op.write) > 0 {
			e.done = nil
		}
		select {
		case <-e.done:
			return errStopped
		default:
		}
		if err := t.runSteps(); err != nil {
			return err
		}
	}
	e.p.at = nil
	return nil
}

func (p *Program) runSteps(steps []*step) error {
	for _, s := range steps {
		p.at = s
		if err := p.runStep(s); err != nil {
			return err
		}
	}
	p.at = nil
	return nil
}

func (p *Program) runStep(s *step) error {
	if p.opts.Profile {
		defer s.measure(p.batch)()
	}
	if err := s.compute(); err != nil {
		return fmt.Errorf("node %s (%s): %w", s.op.node.Name, s.op.node.Op, err)
	}
	if p.opts.CheckNumerics {
		return s.checkNumerics()
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
	var errs []error
	if p.lowered != nil && p.stream != nil {
		errs = append(errs, p.idle())
	}
	for _, b := range append(p.consts, p.arena) {
		if b != nil {
			errs = append(errs, b.Free())
		}
	}
	for _, k := range p.weights {
		p.vars.weights.release(k)
	}
	if p.lowered != nil {
		errs = append(errs, p.lowered.close())
	}
	if c, ok := p.stream.(io.Closer); ok {
		errs = append(errs, c.Close())
	}
	p.consts, p.arena, p.weights = nil, nil, nil
	return errors.Join(errs...)
}
