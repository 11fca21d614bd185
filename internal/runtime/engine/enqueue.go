package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/runtime/device"
)

// inFlight is the runs that an accelerator does while the host has gone on. Whoever locks the variables waits for them.
type inFlight struct {
	count atomic.Int32
	mu    sync.Mutex
	runs  map[*Program]device.Event // the end of each program's latest
}

// add notes a run, which ends in an event. The variables are locked.
func (u *inFlight) add(p *Program, end device.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.runs == nil {
		u.runs = map[*Program]device.Event{}
	}
	u.runs[p] = end
	u.count.Store(int32(len(u.runs)))
}

// wait returns when no run is under way but of p, whose next run follows in the same stream; of programs that only read,
// too, if the caller is to write. Their errors are their programs'.
func (u *inFlight) wait(p *Program, writes bool) {
	if u.count.Load() == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.runs, func(q *Program, end device.Event) bool {
		if q == p || !writes && !q.updates {
			return false
		}
		q.lowered.deferError(end.Wait())
		return true
	})
	u.count.Store(int32(len(u.runs)))
}

// forget ends the notes of a program that was waited for.
func (u *inFlight) remove(p *Program) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.runs, p)
	u.count.Store(int32(len(u.runs)))
}

// lock is held by a program p that updates variables, or by nil to change some.
func (v *Variables) lock(p *Program) {
	v.mu.Lock()
	v.inFlight.wait(p, true)
}

// rlock is held by a program p that does not, or by nil to read some.
func (v *Variables) rlock(p *Program) {
	v.mu.RLock()
	v.inFlight.wait(p, false)
}

// deferredError is the errors of runs that were not waited for.
type deferredError struct {
	mu  sync.Mutex
	err error
}

func (l *lowered) deferError(err error) {
	if err == nil {
		return
	}
	l.deferred.mu.Lock()
	defer l.deferred.mu.Unlock()
	l.deferred.err = errors.Join(l.deferred.err, l.nameFault(err))
}

// Enqueue is RunAhead that returns before the run is done, so that the accelerator goes on to the next one at once. The
// fetches are not read: Value gives nil. The feeds may be changed when it returns. An error that the run comes to leaves
// the variables as they were, also by runs after it, and is told by the next call that waits: Wait, Run or RunAhead.
// Whoever reads or writes the variables meanwhile waits for it. Programs with steps on the host, with OnFetch,
// CheckNumerics or Profile, and devices that are no accelerators, do as RunAhead does.
func (p *Program) Enqueue(ctx context.Context, a *Ahead) error {
	if a.set == nil || !p.lowered.continuous() || a.p != p || a.used {
		return p.RunAhead(ctx, a)
	}
	a.used = true
	err := p.enqueue(ctx, a)
	return errors.Join(err, a.release())
}

// enqueue issues a run.
func (p *Program) enqueue(ctx context.Context, a *Ahead) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropResults()
	if p.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	defer p.recovered(&err)
	l := p.lowered
	defer func() {
		if err != nil {
			err = errors.Join(l.nameFault(err), p.idle())
			p.batch = 0
		}
	}()
	if a.batch != p.batch {
		if err := p.rebatch(a.batch); err != nil {
			return err
		}
	}
	if err := l.feedAhead(a.set, a.feeds); err != nil {
		return err
	}
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
	p.exec.ctx, p.exec.done = ctx, ctx.Done()
	l.enqueued = true
	err = l.runSegments(l.phases[0], true)
	p.exec.ctx, p.exec.done = nil, nil
	if err != nil {
		return err
	}
	end, err := p.stream.Record()
	if err == nil {
		p.vars.inFlight.add(p, end)
	}
	return err
}

// rebatch waits for runs with other sizes and prepares for these.
func (p *Program) rebatch(batch int) error {
	if err := p.idle(); err != nil {
		return err
	}
	if batch > p.capacity || p.lowered.outgrown(batch) {
		if err := p.plan(max(batch, p.capacity)); err != nil {
			return err
		}
	}
	if err := p.resize(batch); err != nil {
		return err
	}
	p.exec.ctx, p.exec.rebatch = context.Background(), true
	defer func() { p.exec.ctx = nil }()
	return p.lowered.prepare()
}

// continuous reports whether runs can follow each other without the host.
func (l *lowered) continuous() bool {
	o := l.p.opts
	if o.OnFetch != nil || o.CheckNumerics || o.Profile {
		return false
	}
	for i := range l.phases[0] {
		if l.phases[0][i].kernel == nil {
			return false
		}
	}
	return true
}

// Wait returns when all runs that Enqueue has begun are done, with their first error.
func (p *Program) Wait() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lowered == nil || p.closed {
		return nil
	}
	return p.idle()
}

// idle waits for the accelerator and returns what enqueued runs have come to.
func (p *Program) idle() error {
	l := p.lowered
	err := p.stream.Synchronize()
	l.enqueued = false
	p.vars.inFlight.remove(p)
	l.deferred.mu.Lock()
	defer l.deferred.mu.Unlock()
	if err != nil {
		err = l.nameFault(err)
	}
	err, l.deferred.err = errors.Join(l.deferred.err, err), nil
	if err != nil {
		return fmt.Errorf("an enqueued run: %w", err)
	}
	return nil
}
