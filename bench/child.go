package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// contender is one way to do a subject's work.
type contender struct {
	name string
	argv []string
	env  []string
	// tolerance for its results, if its definitions differ slightly; 0: the field's.
	tolerance float64
	// cases that it runs; nil: all.
	cases []string
	// threads is the only number of threads that it runs with; 0: any.
	threads int
}

// runs reports whether the contender runs a case.
func (c contender) runs(name string) bool { return c.cases == nil || slices.Contains(c.cases, name) }

// child is a running worker process.
type child struct {
	contender
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errs    strings.Builder
	ready   reply
	startup time.Duration // from exec to ready
	cpu     bool          // measure blocks by the worker's processor time
	stop    func() error  // asks the worker to end, and kills it if it does not; later calls do nothing
	limit   time.Duration // for each answer
}

// answerLimit is the time that a process has to become ready, and for each answer. A process that hangs fails the run, and the
// error says which one it was and what it was doing.
const answerLimit = 20 * time.Minute

// start starts a contender with that many threads and waits until it is ready.
func start(ctx context.Context, c contender, threads int) (*child, error) {
	w := &child{contender: c, limit: answerLimit, cmd: exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)}
	n := fmt.Sprint(threads)
	w.cmd.Env = append(os.Environ(), "BENCH_THREADS="+n, "OMP_NUM_THREADS="+n, "MKL_NUM_THREADS="+n, "OPENBLAS_NUM_THREADS="+n,
		"TF_CPP_MIN_LOG_LEVEL=3", "CUDA_VISIBLE_DEVICES=", "PYTHONWARNINGS=ignore")
	w.cmd.Env = append(w.cmd.Env, c.env...)
	w.cmd.Stderr = &w.errs
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.in, w.out, w.stop = in, bufio.NewReader(out), sync.OnceValue(w.end)
	begun := time.Now()
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	w.ready, err = w.read()
	w.startup = time.Since(begun)
	if err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

// run times a block of steps.
func (w *child) run(steps int, name string) (reply, error) {
	if !w.cpu {
		return w.answer(steps, name)
	}
	before, err := processorTime(w.cmd.Process.Pid)
	if err != nil {
		return reply{}, err
	}
	r, err := w.answer(steps, name)
	if err != nil {
		return r, err
	}
	after, err := processorTime(w.cmd.Process.Pid)
	r.Seconds = max(after-before, 1./ticks)
	return r, err
}

// answer makes the worker time a block of steps.
func (w *child) answer(steps int, name string) (reply, error) {
	if _, err := fmt.Fprintln(w.in, "run", steps, name); err != nil {
		return reply{}, fmt.Errorf("%s: %w", w.name, err)
	}
	return w.read()
}

// read reads the next answer. It skips other lines, which libraries print.
func (w *child) read() (reply, error) {
	late := time.AfterFunc(w.limit, w.quit)
	defer late.Stop()
	for {
		line, err := w.out.ReadBytes('\n')
		if err != nil {
			_ = w.stop() // then errs is complete
			if !late.Stop() {
				return reply{}, fmt.Errorf("%s did not answer within %v; it was here:\n%s", w.name, w.limit, w.errs.String())
			}
			return reply{}, fmt.Errorf("%s ended: %s", w.name, lastLines(w.errs.String(), 3))
		}
		if len(line) == 0 || line[0] != '{' {
			continue
		}
		var r reply
		if err := json.Unmarshal(line, &r); err != nil {
			return r, fmt.Errorf("%s: %w: %s", w.name, err, line)
		}
		if r.Error != "" {
			return r, fmt.Errorf("%s: %s", w.name, r.Error)
		}
		return r, nil
	}
}

// quit makes a Go or Python process write its stacks to standard error and end.
func (w *child) quit() {
	if w.cmd.Process.Signal(syscall.SIGQUIT) != nil {
		_ = w.cmd.Process.Kill() // no such signal on this system
	}
}

// end is the first call of stop.
func (w *child) end() error {
	w.in.Close()
	timer := time.AfterFunc(5*time.Second, func() { _ = w.cmd.Process.Kill() })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, w.out)
	var exit *exec.ExitError
	if err := w.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}

// lastLines are the last n lines of a process's error output.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}
