package launcher

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
)

// supervise starts all tasks and returns when all have ended.
func (c *cluster) supervise(ctx context.Context) {
	for _, t := range c.tasks {
		if !c.start(t) {
			break
		}
	}
	interrupt, kill := ctx.Done(), c.Kill
	for c.alive() {
		select {
		case e := <-c.events:
			if e.exited {
				c.exited(e.task)
			} else if e.task.state == waiting {
				c.start(e.task)
			}
		case <-interrupt:
			interrupt = nil
			c.interrupted(ctx)
		case <-kill:
			kill = nil
			c.failed = ErrKilled
			c.kill()
		case <-c.timer.C:
			c.timeUp()
		}
	}
	c.timer.Stop()
}

// start starts a task. The line about its start comes before its output.
func (c *cluster) start(t *task) bool {
	defer c.stdout.hold()()
	defer c.stderr.hold()()
	if err := t.start(c.Local, c.events); err != nil {
		t.state = ended
		c.fail(err)
		c.terminate()
		return false
	}
	c.Log.Info(fmt.Sprintf("%s started, process %d", t, t.process.PID()))
	return true
}

// alive reports whether a task runs or will run again.
func (c *cluster) alive() bool {
	for _, t := range c.tasks {
		if t.state != ended {
			return true
		}
	}
	return false
}

// exited decides what to do after a task's process has ended.
func (c *cluster) exited(t *task) {
	t.state, t.code = ended, t.process.ExitCode()
	t.out.flush()
	t.err.flush()
	switch {
	case c.phase != working:
		c.endedLate(t)
	case t.code == 0 && t.Task == c.Leader():
		c.Log.Info(fmt.Sprintf("%s has succeeded: the job is done", t))
		c.done = true
		c.finish()
	case c.Restart.Restarts(t.code) && t.restarts() < c.MaxRestarts:
		c.restart(t)
	case t.code != 0:
		c.fail(&TaskError{Task: t.Task, Code: t.code, Restarts: t.restarts(), Lines: t.out.tail.last()})
		c.Log.Warn(fmt.Sprintf("%s failed with exit code %d: ending the other tasks", t, t.code))
		c.terminate()
	default:
		c.Log.Info(fmt.Sprintf("%s has ended with exit code 0", t))
	}
}

// endedLate logs a task that ended after the result of the job was decided.
func (c *cluster) endedLate(t *task) {
	switch {
	case t.wasKilled():
		c.Log.Warn(fmt.Sprintf("%s did not end by SIGTERM and was killed", t))
	case t.code != 0 && t.code != terminatedCode:
		c.Log.Warn(fmt.Sprintf("%s failed with exit code %d after the end of the job was decided", t, t.code))
	default:
		c.Log.Info(fmt.Sprintf("%s has ended with exit code %d", t, t.code))
	}
	if c.phase == finishing && c.onlyPSLeft() {
		c.timer.Reset(min(c.PSTimeout, c.FinishTimeout))
	}
}

// restart starts a task again after a delay, which doubles each time.
func (c *cluster) restart(t *task) {
	delay := c.FirstDelay << min(t.restarts(), 5)
	c.Log.Warn(fmt.Sprintf("%s ended with exit code %d: restart %d of at most %d in %v", t, t.code, t.restarts()+1, c.MaxRestarts, delay))
	t.state = waiting
	time.AfterFunc(delay, func() { c.events <- event{task: t} })
}

func (c *cluster) onlyPSLeft() bool {
	for _, t := range c.tasks {
		if t.state != ended && t.Type != replica.PS {
			return false
		}
	}
	return true
}

// finish waits for the other tasks: the evaluator may still evaluate the
// last checkpoint, and parameter servers end when training is over.
func (c *cluster) finish() {
	c.phase = finishing
	c.cancelRestarts()
	if c.onlyPSLeft() {
		c.timer.Reset(min(c.PSTimeout, c.FinishTimeout))
		return
	}
	c.timer.Reset(c.FinishTimeout)
}

// interrupted forwards a signal that this process received to all tasks.
func (c *cluster) interrupted(ctx context.Context) {
	c.fail(fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(ctx)))
	if c.phase < terminating {
		c.Log.Info(fmt.Sprintf("%v: passed on to all tasks, which have %v to end", context.Cause(ctx), c.Grace))
		c.terminate()
	}
}

// fail records the first error.
func (c *cluster) fail(err error) {
	if c.failed == nil {
		c.failed = err
	}
}

// timeUp starts the next phase.
func (c *cluster) timeUp() {
	switch c.phase {
	case finishing:
		c.Log.Info("ending the tasks that are left")
		c.terminate()
	case terminating:
		c.kill()
	}
}

func (c *cluster) cancelRestarts() {
	for _, t := range c.tasks {
		if t.state == waiting {
			t.state = ended
		}
	}
}

func (c *cluster) terminate() {
	if c.phase >= terminating {
		return
	}
	c.phase = terminating
	c.cancelRestarts()
	for _, t := range c.tasks {
		if t.state == running && t.process.Signal(syscall.SIGTERM) == nil {
			t.stopped = true
		}
	}
	c.timer.Reset(c.Grace)
}

func (c *cluster) kill() {
	c.phase = killing
	c.timer.Stop()
	c.cancelRestarts()
	for _, t := range c.tasks {
		if t.state == running && t.process.Signal(syscall.SIGKILL) == nil {
			t.killed = true
		}
	}
}
