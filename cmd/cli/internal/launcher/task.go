package launcher

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/internal/platform/proc"
)

// state is the state of a task.
type state int

const (
	running state = iota
	waiting       // for its next start
	ended
)

// task is one task of a local job.
type task struct {
	replica.Task
	env     []string
	out     *lineWriter
	err     *lineWriter
	file    *os.File // nil: no log file
	process *proc.Process
	state   state
	code    int // last exit code
	starts  int
	killed  bool // we sent it SIGKILL
	stopped bool // we sent it SIGTERM
}

// openLog opens the task's log file for appending.
func (t *task) openLog(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, t.String()+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("log file of %s: %w", t, err)
	}
	t.file, t.out.file, t.err.file = f, f, f
	return nil
}

// start starts the task's process; events receives its end.
func (t *task) start(l Local, events chan<- event) error {
	t.starts++
	if t.file != nil {
		_, _ = fmt.Fprintf(t.file, "--- %s start %d of %s\n", time.Now().UTC().Format(time.RFC3339), t.starts, t)
	}
	p, err := proc.Start(proc.Command{Args: l.Command, Env: t.env, Stdout: t.out, Stderr: t.err, Linger: l.Grace})
	if err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	t.process, t.state = p, running
	go func() {
		<-p.Done()
		events <- event{task: t, exited: true}
	}()
	return nil
}

// restarts is the number of times the task was started again.
func (t *task) restarts() int { return max(0, t.starts-1) }

// wasKilled reports whether the task ended by our SIGKILL.
func (t *task) wasKilled() bool { return t.killed && t.code == killedCode }

// Exit codes of processes that were ended by a signal.
const (
	killedCode     = 128 + int(syscall.SIGKILL)
	terminatedCode = 128 + int(syscall.SIGTERM)
)
