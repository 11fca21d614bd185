package inprocess_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/distribute/inprocess"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// job is a cluster whose chief is a test.
type job struct {
	*inprocess.Cluster
	*blocker
}

// coordinated starts workers and a parameter server, and runs a chief's loop.
func coordinated(t *testing.T, loop func(ctx context.Context, j *job, l *line, c *distribute.Coordinator) error) {
	t.Helper()
	ctx := bounded(t)
	j := &job{blocker: newBlocker()}
	var err error
	j.Cluster, err = inprocess.New(inprocess.Tasks{Chief: 1, Workers: 2, PS: 1}, j.task, options(t.TempDir(), "parameter_server")...)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Start(ctx, j.Tasks(runconfig.Worker, runconfig.PS)...); err != nil {
		t.Fatal(err)
	}
	rc, err := j.RunConfig(chief)
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLine(rc, j.blocker)
	if err != nil {
		t.Fatal(err)
	}
	c, err := distribute.NewCoordinator(ctx, l.Strategy)
	if err == nil {
		err = errors.Join(loop(ctx, j, l, c), c.Close(ctx))
	}
	if err := errors.Join(err, l.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Wait(ctx), j.Close()); err != nil {
		t.Error(err)
	}
}

// task is the program of workers and servers.
func (j *job) task(ctx context.Context, rc runconfig.RunConfig) error {
	if rc.TaskType() == runconfig.PS {
		return distribute.Serve(ctx, rc, quiet)
	}
	l, err := newLine(rc, j.blocker)
	if err != nil {
		return err
	}
	return errors.Join(l.Work(ctx), l.Close(ctx))
}

// steps schedules training steps, and waits for them.
func (l *line) steps(ctx context.Context, c *distribute.Coordinator, n int) error {
	data := c.CreatePerWorkerDataset(l.perWorker)
	for range n {
		if _, err := c.Schedule(ctx, l.step, data); err != nil {
			return err
		}
	}
	return c.Join(ctx)
}

// TestKillWorker: a function whose worker is killed runs again on the other worker; then the killed one comes back.
func TestKillWorker(t *testing.T) {
	t.Parallel()
	coordinated(t, func(ctx context.Context, j *job, l *line, c *distribute.Coordinator) error {
		for range 3 {
			j.armed <- struct{}{}
			v, err := c.Schedule(ctx, l.block)
			if err != nil {
				return err
			}
			killed := inprocess.Task{Job: runconfig.Worker, Index: <-j.blocked}
			if err := j.Kill(ctx, killed); err != nil {
				return err
			}
			if err := <-j.reached; err == nil {
				t.Error("the killed worker reached a parameter server")
			}
			if _, err := v.Fetch(ctx); err != nil {
				return err
			}
			if err := l.steps(ctx, c, 5); err != nil {
				return err
			}
			if err := j.Start(ctx, killed); err != nil {
				return err
			}
		}
		return l.steps(ctx, c, 5)
	})
}

// TestKillServer: the Coordinator reports that the variables are lost, and continues from the checkpoint.
func TestKillServer(t *testing.T) {
	t.Parallel()
	coordinated(t, func(ctx context.Context, j *job, l *line, c *distribute.Coordinator) error {
		if err := l.steps(ctx, c, 10); err != nil {
			return err
		}
		if _, err := l.Save(ctx); err != nil {
			return err
		}
		if err := errors.Join(j.Kill(ctx, ps), j.Start(ctx, ps)); err != nil {
			return err
		}
		if err := l.steps(ctx, c, 10); !errors.Is(err, distribute.ErrServersLost) {
			return fmt.Errorf("%w, expected ErrServersLost", err)
		}
		if _, err := l.Restore(ctx); err != nil {
			return err
		}
		if err := l.steps(ctx, c, 10); err != nil {
			return err
		}
		step, err := l.Variable("global_step")
		if err == nil && step.Int(0) != 20 {
			err = fmt.Errorf("global step %d, expected 20", step.Int(0))
		}
		return err
	})
}

// TestKillInLockStep: workers in lock step continue from the checkpoint when a killed worker is started again.
func TestKillInLockStep(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	reached := make(chan int64)
	c, err := inprocess.New(inprocess.Tasks{Chief: 1, Workers: 2}, func(ctx context.Context, rc runconfig.RunConfig) error {
		l, err := newLine(rc, nil)
		if err != nil {
			return err
		}
		return errors.Join(l.loop(ctx, 9, func(step int64) {
			if !rc.IsChief() {
				return
			}
			select {
			case reached <- step:
			case <-ctx.Done():
			}
		}), l.Close(ctx))
	}, options(t.TempDir(), "multi_worker_mirrored")...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait(ctx) }()
	for killed := false; ; {
		select {
		case step := <-reached:
			if step == 3 && !killed {
				killed = true
				if err := errors.Join(c.Kill(ctx, worker), c.Start(ctx, worker)); err != nil {
					t.Fatal(err)
				}
			}
		case err := <-ended:
			if err != nil || !killed {
				t.Fatalf("killed %v, %v", killed, err)
			}
			return
		}
	}
}

// TestKillChief: a restarted chief continues from its checkpoint, with the existing workers.
func TestKillChief(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	j := &job{blocker: newBlocker()}
	saved := make(chan int64, 2)
	var err error
	j.Cluster, err = inprocess.New(inprocess.Tasks{Chief: 1, Workers: 2, PS: 1}, func(ctx context.Context, rc runconfig.RunConfig) error {
		if rc.IsChief() {
			return j.chief(ctx, rc, saved)
		}
		return j.task(ctx, rc)
	}, options(t.TempDir(), "parameter_server")...)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	j.armed <- struct{}{}
	if err := j.Start(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-j.blocked:
	case <-ctx.Done():
		t.Fatal("no function has blocked")
	}
	if err := errors.Join(j.Kill(ctx, chief), j.Start(ctx, chief), j.Wait(ctx), j.Close()); err != nil {
		t.Fatal(err)
	}
	if first, second := <-saved, <-saved; first != 10 || second != 20 {
		t.Errorf("saved steps %d and %d, expected 10 and 20", first, second)
	}
}

// chief makes 10 steps, saves, and runs the function block.
func (j *job) chief(ctx context.Context, rc runconfig.RunConfig, saved chan<- int64) error {
	l, err := newLine(rc, j.blocker)
	if err != nil {
		return err
	}
	c, err := distribute.NewCoordinator(ctx, l.Strategy)
	if err != nil {
		return errors.Join(err, l.Close(ctx))
	}
	err = l.steps(ctx, c, 10)
	if err == nil {
		_, err = l.Save(ctx)
	}
	if err == nil {
		var step *tensor.Tensor
		if step, err = l.Variable("global_step"); err == nil {
			saved <- step.Int(0)
			_, err = c.Schedule(ctx, l.block)
		}
	}
	if err == nil {
		err = c.Join(ctx)
	}
	return errors.Join(err, c.Close(ctx), l.Close(ctx))
}
