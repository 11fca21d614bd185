package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Command is a program to run.
type Command struct {
	Args           []string // the program, found through PATH, and its arguments
	Env            []string // NAME=VALUE; nil: this process's
	Dir            string   // empty: this process's
	Stdout, Stderr io.Writer
	// Linger is how long processes that the child left behind may live after it
	// has ended: they get SIGTERM at once and SIGKILL after that time.
	Linger time.Duration
}

// Process is a running or ended child.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu    sync.Mutex
	ended bool // reaped: its group receives no more signals
	code  int
}

// ErrEnded is the error for a signal to a process that has ended.
var ErrEnded = errors.New("the process has ended")

// Start starts a child.
func Start(c Command) (*Process, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("start a process: expected a command, got none")
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	cmd.SysProcAttr = attributes()
	out, err := newOutputs(cmd, c)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(c.Linger, out, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	return p, nil
}

// run starts the child and waits for it on one thread, since the kernel kills
// the child when the thread that started it ends.
func (p *Process) run(linger time.Duration, out *outputs, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	out.started()
	if err != nil {
		out.close()
		started <- err
		return
	}
	started <- nil
	reap := awaitExit(p.cmd.Process)
	_ = signalGroup(p.cmd.Process, syscall.SIGTERM) // the group may be empty
	out.drain(linger)
	p.mu.Lock()
	_ = signalGroup(p.cmd.Process, syscall.SIGKILL)
	state, err := reap()
	p.ended, p.code = true, exitCode(state, err)
	p.mu.Unlock()
	out.close()
	close(p.done)
}

// exitCode is the code that a shell would report: 128 plus the signal if one
// ended the process.
func exitCode(state *os.ProcessState, err error) int {
	if err != nil {
		return 1
	}
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return state.ExitCode()
}

// PID returns the process id, which is also the group's.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended, its group is gone and its output
// was written.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode returns the exit code of a process that is [Process.Done]; 128 plus
// the signal if one ended it.
func (p *Process) ExitCode() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.code
}

// Signal sends a signal to the process and its group.
func (p *Process) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return ErrEnded
	}
	return signalGroup(p.cmd.Process, s)
}

// Stop ends the process: with SIGTERM, and with SIGKILL after the grace. It
// returns when the process is done.
func (p *Process) Stop(grace time.Duration) {
	if p.Signal(syscall.SIGTERM) != nil {
		<-p.done
		return
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		// An error means that the process has just ended.
		_ = p.Signal(syscall.SIGKILL)
		<-p.done
	}
}
