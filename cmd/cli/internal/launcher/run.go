package launcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/goestimator/goestimator/internal/platform/freeport"
)

// event is a change that the supervisor of a job handles.
type event struct {
	task   *task
	exited bool // the process has ended; otherwise: start it again
}

// phase is the phase of a running job.
type phase int

const (
	working     phase = iota
	finishing         // the leader is done; the others may still end by themselves
	terminating       // SIGTERM was sent to the others
	killing           // SIGKILL was sent to the others
)

// cluster is a running local job.
type cluster struct {
	Local
	tasks  []*task
	stdout *sink
	stderr *sink
	events chan event
	phase  phase
	timer  *time.Timer // of the phase; when it fires, the next phase begins
	failed error       // why the job failed; nil: it has not
	done   bool        // the leader has succeeded
}

// Run runs a job on this machine until all its processes have ended, and returns
// the result of each. The error is nil when the leader (the chief, else worker 0)
// ended with exit code 0. It is a [*TaskError] when a task failed, [ErrInterrupted]
// when ctx ended first, or [ErrKilled].
//
// As in TFJob, the restart policy says whether a task that ends is started again.
// If any task fails permanently, including a parameter server or evaluator,
// the job fails. Unlike in TFJob, exit code 0 of the leader is success under every
// policy, and MaxRestarts bounds the restarts of a task. Failures after the
// leader's success are logged as warnings.
func Run(ctx context.Context, l Local) (outcomes []Outcome, err error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	ports, err := freeport.Reserve(len(l.Tasks()))
	if err != nil {
		return nil, err
	}
	defer ports.Close()
	c := &cluster{Local: l, timer: time.NewTimer(time.Hour)}
	c.timer.Stop()
	if err := c.prepare(ports); err != nil {
		return nil, errors.Join(err, c.closeLogs())
	}
	c.events = make(chan event, 2*len(c.tasks)) // each task has at most one exit and one restart pending
	c.supervise(ctx)
	return c.outcomes(), errors.Join(c.result(), c.closeLogs())
}

// prepare makes the tasks, with their environments and outputs.
func (c *cluster) prepare(ports *freeport.Reservation) error {
	if c.LogDir != "" {
		if err := os.MkdirAll(c.LogDir, 0o755); err != nil {
			return fmt.Errorf("folder of log files: %w", err)
		}
	}
	c.stdout, c.stderr = &sink{out: c.Stdout}, &sink{out: c.Stderr}
	var names []string
	for _, t := range c.Tasks() {
		names = append(names, t.String())
	}
	prefix, environs := prefixes(names, c.Color), c.environs(ports)
	for i, name := range c.Tasks() {
		last := &tail{}
		t := &task{
			Task: name, env: environs[i], state: ended,
			out: &lineWriter{prefix: prefix[i], to: c.stdout, tail: last},
			err: &lineWriter{prefix: prefix[i], to: c.stderr, tail: last},
		}
		if c.Records {
			t.err.record = name.String()
		}
		c.tasks = append(c.tasks, t)
		if c.LogDir != "" {
			if err := t.openLog(c.LogDir); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *cluster) closeLogs() error {
	var errs []error
	for _, t := range c.tasks {
		if t.file != nil {
			errs = append(errs, t.file.Close())
		}
	}
	return errors.Join(errs...)
}

// result is the error of the job.
func (c *cluster) result() error {
	if c.done {
		return nil
	}
	return c.failed
}
