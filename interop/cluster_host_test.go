package interop_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// pythonHost is a process with TensorFlow loaded that forks a process for each script: starting TensorFlow takes seconds, a fork milliseconds.
type pythonHost struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	log   strings.Builder

	mu      sync.Mutex
	scripts map[int]*pythonScript // running scripts
	last    int                   // last id
	ended   error
}

// pythonScript is a script that a host has started.
type pythonScript struct {
	name     string
	cluster  *testCluster  // the cluster that it uses; may be nil
	out, err string        // files
	started  chan struct{} // closed when pid is known
	done     chan struct{} // closed when it has ended
	pid      int
	code     int // valid after done
	failure  error
}

var theHost struct {
	once sync.Once
	host *pythonHost
	err  error
}

// host returns the host for this test process, or skips the test. endHost ends it.
func host(t *testing.T) *pythonHost {
	t.Helper()
	p := peers(t)
	theHost.once.Do(func() { theHost.host, theHost.err = startHost(p) })
	if theHost.err != nil {
		t.Fatal(theHost.err)
	}
	return theHost.host
}

// endHost ends the host, and all scripts with it.
func endHost() {
	if h := theHost.host; h != nil {
		_ = h.input.Close()
		_ = h.cmd.Wait()
	}
}

func startHost(p python) (*pythonHost, error) {
	h := &pythonHost{cmd: exec.Command(p.path, filepath.Join("python", "cluster_host.py")), scripts: map[int]*pythonScript{}}
	h.cmd.Env = peerEnvironment()
	h.cmd.Stderr = &h.log
	var err error
	if h.input, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	go h.listen(out)
	return h, nil
}

// listen records what the host reports about scripts.
func (h *pythonHost) listen(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var said struct {
			ID, PID int
			Code    *int
		}
		if err := json.Unmarshal(lines.Bytes(), &said); err != nil {
			continue // a message of TensorFlow
		}
		h.mu.Lock()
		s := h.scripts[said.ID]
		switch {
		case s == nil:
		case said.Code == nil:
			s.pid = said.PID
			close(s.started)
		default:
			delete(h.scripts, said.ID)
			s.code = *said.Code
			close(s.done)
		}
		h.mu.Unlock()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = errors.New("the process that runs scripts has ended")
	for s := range maps.Values(h.scripts) {
		s.failure = h.ended
		close(s.done)
	}
	h.scripts = nil
}

// start starts a script of python/ with additional environment variables. It is killed at the end of the test.
func (h *pythonHost) start(t *testing.T, env map[string]string, script string, args ...string) *pythonScript {
	t.Helper()
	dir := t.TempDir()
	s := &pythonScript{name: script, out: filepath.Join(dir, "out"), err: filepath.Join(dir, "err"), started: make(chan struct{}), done: make(chan struct{})}
	for _, file := range []string{s.out, s.err} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended != nil {
		t.Fatal(h.ended)
	}
	h.last++
	text, err := json.Marshal(map[string]any{"id": h.last, "script": filepath.Join("python", script), "args": slices.Clone(args), "env": env, "out": s.out, "err": s.err})
	if err != nil {
		t.Fatal(err)
	}
	h.scripts[h.last] = s
	if _, err := h.input.Write(append(text, '\n')); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	return s
}

// kill kills a script like kill -9, unless it has ended.
func (s *pythonScript) kill() {
	select {
	case <-s.started:
	case <-s.done:
	}
	select {
	case <-s.done:
	default:
		_ = syscall.Kill(s.pid, syscall.SIGKILL)
		<-s.done
	}
}

// printed is the script's output so far.
func (s *pythonScript) printed() string {
	out, err := os.ReadFile(s.out)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// explain describes a script for a failed test.
func (s *pythonScript) explain() string {
	select {
	case <-s.done:
		return fmt.Sprintf("%s: exit code %d, %v\n%s", s.name, s.code, s.failure, tail(s.said(), 4000))
	default:
		return fmt.Sprintf("%s still runs\n%s", s.name, tail(s.said(), 4000))
	}
}

// said is the script's output and log so far.
func (s *pythonScript) said() string {
	log, err := os.ReadFile(s.err)
	if err != nil {
		return err.Error()
	}
	return s.printed() + string(log)
}

// until waits until done reports true for the script's output and log; what describes the condition.
func (s *pythonScript) until(t *testing.T, what string, done func(said string) bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), hostedTime(t))
	defer stop()
	for !done(s.said()) {
		select {
		case <-s.done:
			if !done(s.said()) {
				t.Fatalf("expected %s of %s", what, s.explain())
			}
		case <-ctx.Done():
			t.Fatalf("waiting for %s: %v\n%s", what, ctx.Err(), s.stacks())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// wait waits until the script has ended successfully, and returns its output.
func (s *pythonScript) wait(t *testing.T) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), hostedTime(t))
	defer stop()
	select {
	case <-s.done:
	case <-ctx.Done():
		t.Fatalf("%v\n%s", ctx.Err(), s.stacks())
	}
	if s.code != 0 || s.failure != nil {
		t.Fatal(s.explain())
	}
	return s.printed()
}
