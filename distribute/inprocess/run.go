package inprocess

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/runconfig"
)

// ErrKilled is the cause with which a killed task's context ends.
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

// task is a task of a cluster. It may run several times, one after the other.
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

// Start starts the given tasks; without any, all. A task that was killed or has ended runs the
// program again, like a restarted process. The end of ctx ends the tasks' contexts.
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

// ended records the end of a program. It ignores errors after the end of the program's context.
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

// Kill ends tasks like the end of their processes, and returns when their programs have
// ended. It ignores the errors of these programs, and tasks that do not run.
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

// kill ends one task. Its connections end before its context does, so that it cannot tell other tasks.
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
		case <-time.After(time.Millisecond): // it may have joined the cluster in the meantime
		case <-ctx.Done():
			return fmt.Errorf("its program goes on: %w", context.Cause(ctx))
		}
	}
}

// Wait returns when all started tasks except parameter servers have ended, or with the
// first error of a task, a *TaskError. That task may be started again; the others run on
// until Close.
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

// look reports whether the tasks that Wait waits for have ended, and the first error that was not returned yet.
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

// Close ends all tasks by their contexts, waits for their programs, and frees the ports.
// It kills parameter servers, which would wait for the chief to save, when the others have
// ended. It returns errors of tasks that ended before Close and that Wait has not
// returned. A second Close does nothing.
func (c *Cluster) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.mu.Unlock()
	for _, t := range c.tasks { // runs no longer change
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
