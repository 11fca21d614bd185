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

// inFlight is the runs that were issued to an accelerator and not waited for. Locking the variables waits for them.
type inFlight struct {
	count atomic.Int32
	mu    sync.Mutex
	runs  map[*plan]device.Event // end of each program's latest run
	errs  map[*plan]error        // errors of runs that other programs waited for
}

// add records a run that ends with the event. The variables are locked.
func (u *inFlight) add(p *plan, end device.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.runs == nil {
		u.runs, u.errs = map[*plan]device.Event{}, map[*plan]error{}
	}
	u.runs[p] = end
	u.count.Store(int32(len(u.runs)))
}

// wait waits for the runs of other programs that update variables and, if the caller writes, also of programs that only
// read. It does not wait for p's runs: p's next run follows them in the same stream. Errors are kept for remove.
func (u *inFlight) wait(p *plan, writes bool) {
	if u.count.Load() == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.runs, func(q *plan, end device.Event) bool {
		if q == p || !writes && !q.updates {
			return false
		}
		if err := end.Wait(); err != nil {
			u.errs[q] = errors.Join(u.errs[q], q.nameFault(err))
		}
		return true
	})
	u.count.Store(int32(len(u.runs)))
}

// remove forgets the runs of a program that was waited for, and returns the errors that wait has kept for it.
func (u *inFlight) remove(p *plan) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	err := u.errs[p]
	delete(u.runs, p)
	delete(u.errs, p)
	u.count.Store(int32(len(u.runs)))
	return err
}

// lock is for a plan p that updates variables or, with nil, for setting variables.
func (v *Variables) lock(p *plan) {
	v.mu.Lock()
	v.inFlight.wait(p, true)
}

// rlock is for a plan p that only reads variables or, with nil, for getting variables.
func (v *Variables) rlock(p *plan) {
	v.mu.RLock()
	v.inFlight.wait(p, false)
}

// begin locks the variables for a run, and end unlocks them.
func (v *Variables) begin(p *plan) {
	if !p.updates {
		v.rlock(p)
		return
	}
	v.lock(p)
	for x := range p.written {
		x.version++
	}
}

func (v *Variables) end(p *plan) {
	if p.updates {
		v.mu.Unlock()
	} else {
		v.mu.RUnlock()
	}
}

// Enqueue is RunAhead that returns before the run is done, so that the accelerator can start the next run at once. The
// fetches are not read: Value returns nil. The feeds may be changed when Enqueue returns. If the run fails, it and the runs
// after it leave the variables as they were, and the next call that waits returns the error: Wait, Run or RunAhead. Reads
// and writes of the variables wait for the run. For programs with steps on the host, OnFetch, CheckNumerics or Profile,
// and on devices that are no accelerators, Enqueue is RunAhead.
func (p *Program) Enqueue(ctx context.Context, a *Ahead) error {
	if a.set == nil || !p.continuous || a.p != p || a.used {
		return p.RunAhead(ctx, a)
	}
	a.used = true
	err := p.enqueue(ctx, a)
	return errors.Join(err, a.set.release())
}

// enqueue issues a run.
func (p *Program) enqueue(ctx context.Context, a *Ahead) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.open(ctx); err != nil {
		return err
	}
	defer p.recovered(&err)
	defer func() {
		if err != nil {
			err = errors.Join(p.nameFault(err), p.pipe.wait())
			p.batch = 0
		}
	}()
	if err := p.checkFeeds(a.batch, a.feeds); err != nil {
		return err
	}
	if a.batch != p.batch {
		if err := p.exec.prepare(a.batch); err != nil {
			return err
		}
	}
	if err := a.set.feed(a.feeds); err != nil {
		return err
	}
	p.vars.begin(p.plan)
	defer p.vars.end(p.plan)
	p.begin(ctx)
	defer p.end()
	return p.pipe.issue()
}

func (a *acceleratorExecutor) issue() error {
	a.enqueued = true
	if err := a.issuePhase(0); err != nil {
		return err
	}
	end, err := a.stream.Record()
	if err == nil {
		a.vars.inFlight.add(a.plan, end)
	}
	return err
}

// Wait waits for all runs that Enqueue has started and returns their first error.
func (p *Program) Wait() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	return p.pipe.wait()
}

func (a *acceleratorExecutor) wait() error {
	err := a.stream.Synchronize()
	a.enqueued = false
	if err != nil {
		err = a.nameFault(err)
	}
	if err := errors.Join(a.vars.inFlight.remove(a.plan), err); err != nil {
		return fmt.Errorf("an enqueued run: %w", err)
	}
	return nil
}
