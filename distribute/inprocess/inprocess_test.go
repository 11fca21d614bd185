package inprocess_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/distribute/inprocess"
	"github.com/goestimator/goestimator/runconfig"
)

var (
	chief  = inprocess.Task{Job: runconfig.Chief}
	worker = inprocess.Task{Job: runconfig.Worker}
	ps     = inprocess.Task{Job: runconfig.PS}
)

var errMade = errors.New("as the test wants")

// bounded is a context of a test.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// untilEnd is a program that runs until its context ends.
func untilEnd(ctx context.Context, _ runconfig.RunConfig) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestTasks: each task has its place in one cluster on loopback, whose ports differ.
func TestTasks(t *testing.T) {
	var mu sync.Mutex
	var ran []string
	spec := map[string]bool{}
	err := inprocess.Run(bounded(t), inprocess.Tasks{Chief: 1, Workers: 2, PS: 2, Evaluator: 1}, func(ctx context.Context, rc runconfig.RunConfig) error {
		mu.Lock()
		ran = append(ran, inprocess.Task{Job: rc.TaskType(), Index: rc.TaskID()}.String())
		spec[rc.ClusterSpec().String()] = rc.TaskType() != runconfig.Evaluator // it does not know its cluster
		mu.Unlock()
		if rc.TaskType() == runconfig.PS {
			<-ctx.Done() // Run does not wait for it
		}
		if rc.IsChief() != (rc.TaskType() == runconfig.Chief) {
			t.Errorf("%s/%d: chief %v", rc.TaskType(), rc.TaskID(), rc.IsChief())
		}
		if !rc.ClusterSpec().OneMachine() {
			t.Errorf("addresses %v, expected loopback", rc.ClusterSpec())
		}
		if seed, _ := rc.TFRandomSeed(); seed != 7 {
			t.Errorf("seed %d, expected the option's", seed)
		}
		return nil
	}, runconfig.TFRandomSeed(7))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ran)
	if want := "chief-0 evaluator-0 ps-0 ps-1 worker-0 worker-1"; strings.Join(ran, " ") != want {
		t.Errorf("ran %v, expected %s", ran, want)
	}
}

// TestErrorOfATask: the error of a task ends all tasks, and has the task's name.
func TestErrorOfATask(t *testing.T) {
	failing := inprocess.Task{Job: runconfig.Worker, Index: 1}
	err := inprocess.Run(bounded(t), inprocess.Tasks{Chief: 1, Workers: 3, PS: 1}, func(ctx context.Context, rc runconfig.RunConfig) error {
		if rc.TaskType() == failing.Job && rc.TaskID() == failing.Index {
			return errMade
		}
		return untilEnd(ctx, rc)
	})
	var of *inprocess.TaskError
	if !errors.Is(err, errMade) || !errors.As(err, &of) || of.Task != failing || err.Error() != "worker-1: "+errMade.Error() {
		t.Errorf("got %v, expected the error of %v alone", err, failing)
	}
}

// TestGoexit: a program that ends its goroutine is an error, and nothing waits for it.
func TestGoexit(t *testing.T) {
	err := inprocess.Run(bounded(t), inprocess.Tasks{Chief: 1}, func(context.Context, runconfig.RunConfig) error {
		runtime.Goexit()
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "chief-0: the program ended its goroutine") {
		t.Errorf("got %v", err)
	}
}

// TestErrorsWithoutWait: Close returns errors that Wait did not.
func TestErrorsWithoutWait(t *testing.T) {
	c, err := inprocess.New(inprocess.Tasks{Chief: 1, PS: 1}, func(context.Context, runconfig.RunConfig) error { return errMade })
	if err != nil {
		t.Fatal(err)
	}
	ctx := bounded(t)
	if err := c.Start(ctx, ps); err != nil {
		t.Fatal(err)
	}
	for c.Start(ctx, ps) != nil { // until the first has ended
		runtime.Gosched()
	}
	if err := c.Close(); !errors.Is(err, errMade) || !strings.HasPrefix(err.Error(), "ps-0: ") {
		t.Errorf("got %v, expected the server's error", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if err := c.Start(ctx, chief); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Start after Close: %v", err)
	}
}

// TestEnd: the end of the context, and Close, end all programs and free the ports.
func TestEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{}, 2)
	go func() { <-started; <-started; cancel() }()
	err := inprocess.Run(ctx, inprocess.Tasks{Workers: 2}, func(ctx context.Context, rc runconfig.RunConfig) error {
		started <- struct{}{}
		return untilEnd(ctx, rc)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, expected the context's end", err)
	}
	c, err := inprocess.New(inprocess.Tasks{Workers: 2}, untilEnd)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	rc, err := c.RunConfig(worker)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	address, _ := rc.ClusterSpec().Address(worker.Job, worker.Index)
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// TestRefusals: invalid uses are errors that say what is wrong.
func TestRefusals(t *testing.T) {
	for want, tasks := range map[string]inprocess.Tasks{
		"no task trains":                 {PS: 2, Evaluator: 1},
		"2 tasks of the job chief":       {Chief: 2},
		"-1 tasks of the job worker":     {Chief: 1, Workers: -1},
		"1000000 tasks of the job ps":    {Chief: 1, PS: 1000000},
		"2 tasks of the job evaluator":   {Chief: 1, Evaluator: 2},
		"in-process cluster: no task tr": {},
	} {
		if _, err := inprocess.New(tasks, untilEnd); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, expected %q", tasks, err, want)
		}
	}
	if _, err := inprocess.New(inprocess.Tasks{Chief: 1}, nil); err == nil {
		t.Error("no program")
	}
	if _, err := inprocess.New(inprocess.Tasks{Chief: 1}, untilEnd, runconfig.ModelDir("")); err == nil || !strings.Contains(err.Error(), "chief-0") {
		t.Errorf("a bad option: %v", err)
	}
	c, err := inprocess.New(inprocess.Tasks{Chief: 1}, untilEnd)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, call := range map[string]func() error{
		"Start":     func() error { return c.Start(t.Context(), ps) },
		"Kill":      func() error { return c.Kill(t.Context(), ps) },
		"RunConfig": func() error { _, err := c.RunConfig(ps); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "no task ps-0: expected one of [chief-0]") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Kill(t.Context(), chief); err != nil {
		t.Errorf("kill of a task that does not run: %v", err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context(), chief); err == nil || !strings.Contains(err.Error(), "chief-0 runs") {
		t.Errorf("a second start: %v", err)
	}
}

// TestKillIsBounded: if a program ignores its context, Kill returns an error when its own context ends.
func TestKillIsBounded(t *testing.T) {
	release := make(chan struct{})
	c, err := inprocess.New(inprocess.Tasks{Chief: 1}, func(context.Context, runconfig.RunConfig) error {
		<-release
		return errMade
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Kill(ended, chief); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "kill chief-0: its program goes on") {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := errors.Join(c.Wait(t.Context()), c.Close()); err != nil {
		t.Errorf("what a killed program returns is dropped, got %v", err)
	}
}
