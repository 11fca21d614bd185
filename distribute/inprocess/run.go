package inprocess

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/runconfig"
)

// ErrKilled is the cause of the end of a killed task's context.
var ErrKilled = errors.New("the task is killed")

var errClosed = errors.New("the in-process cluster is closed")

// TaskError is the error of a task's program.
type TaskError struct {
	Task Task
	Err  error
}

// Error begins with the task's name.
func (e *TaskError) Error() string { return fmt.Sprintf("%v: %v", e.Task, e.Err) }

// Unwrap returns the program's error.
func (e *TaskError) Unwrap() error { return e.Err }

// task is a task of a cluster, which may run several times, once at a time.
type task struct {
	Task
	config  runconfig.RunConfig
	address string // "" for the evaluator
	run     *run   // the latest, guarded by the cluster's lock; nil before the first
}

// run is one run of a task's program.
type run struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the program has ended
	killed bool          // guarded by the cluster's lock
}

// ended reports whether the program has ended.
func (r *run) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// Start starts tasks, all for none. A task that was killed or has ended runs
// the program again, as a process that is started again. The end of ctx ends their contexts.
func (c *Cluster) Start(ctx context.Context, tasks ...Task) error {
	all, err := c.findAll(tasks)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	for _, t := range all {
		if t.run != nil && !t.run.ended() {
			return fmt.Errorf("in-process cluster: %v runs: kill it before it is started again", t)
		}
	}
	for _, t := range all {
		running, cancel := context.WithCancelCause(ctx)
		t.run = &run{cancel: cancel, done: make(chan struct{})}
		go c.runTask(running, t.run, t)
	}
	return nil
}

// runTask runs a task's program.
func (c *Cluster) runTask(ctx context.Context, r *run, t *task) {
	err := errors.New("the program ended its goroutine: it must return, testing.T.FailNow is for the test's own")
	defer func() { c.ended(ctx, r, t, err) }()
	err = c.program(ctx, t.config)
}

// ended notes the end of a program. What it returns after its context's end is the end's doing.
func (c *Cluster) ended(ctx context.Context, r *run, t *task, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && ctx.Err() == nil && !r.killed {
		c.failures = append(c.failures, &TaskError{t.Task, err})
	}
	r.cancel(nil)
	close(r.done)
	close(c.changed)
	c.changed = make(chan struct{})
}

// Kill ends tasks as the end of their processes would, and returns when their programs
// have ended; what these return is dropped. Tasks that do not run stay as they are.
func (c *Cluster) Kill(ctx context.Context, tasks ...Task) error {
	var all []*task
	for _, t := range tasks {
		x, err := c.find(t)
		if err != nil {
			return err
		}
		all = append(all, x)
	}
	for _, t := range all {
		if err := c.kill(ctx, t); err != nil {
			return fmt.Errorf("in-process cluster: kill %v: %w", t, err)
		}
	}
	return nil
}

// kill ends one task. Its connections end before its context does, so that it says goodbye to nobody.
func (c *Cluster) kill(ctx context.Context, t *task) error {
	c.mu.Lock()
	r := t.run
	if r != nil {
		r.killed = true
	}
	c.mu.Unlock()
	if r == nil {
		return nil
	}
	for {
		cluster.Abort(t.address)
		r.cancel(ErrKilled)
		select {
		case <-r.done:
			return nil
		case <-time.After(time.Millisecond): // it may have joined the cluster just now
		case <-ctx.Done():
			return fmt.Errorf("its program goes on: %w", context.Cause(ctx))
		}
	}
}

// Wait returns when all tasks that were started have ended, but for parameter
// servers, or with the first error of a task, a *TaskError. Such a task may be started
// again; the others run on, until Close.
func (c *Cluster) Wait(ctx context.Context) error {
	for {
		changed, ended, err := c.look()
		if ended || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// look reports whether the tasks that are waited for have ended, and the first error that was not returned yet.
func (c *Cluster) look() (changed chan struct{}, ended bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failures) > 0 {
		err, c.failures = c.failures[0], c.failures[1:]
		return nil, false, err
	}
	for _, t := range c.tasks {
		if t.run != nil && !t.run.ended() && t.Job != runconfig.PS {
			return c.changed, false, nil
		}
	}
	return nil, true, nil
}

// Close ends all tasks by their contexts, waits for their programs, and gives the
// ports back. Parameter servers, which would wait for a chief that saves, are killed when
// the others have ended. Close returns errors of tasks that had ended before, and that Wait
// has not returned. A second Close does nothing.
func (c *Cluster) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.mu.Unlock()
	for _, t := range c.tasks { // their runs stay the same now
		if t.run != nil {
			t.run.cancel(errClosed)
		}
	}
	for _, t := range c.tasks {
		if t.run != nil && t.Job != runconfig.PS {
			<-t.run.done
		}
	}
	errs := []error{c.Kill(context.Background(), c.Tasks(runconfig.PS)...), c.ports.Close()}
	for _, err := range c.failures {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
