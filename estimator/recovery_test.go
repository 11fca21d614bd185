package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/runconfig"
)

// untilReplaced ends a server at step 50, and ends training 200 steps after the server's
// replacement.
type untilReplaced struct {
	hooks.Base
	end      func()
	replaced *atomic.Bool
	after    int
}

func (h *untilReplaced) AfterRun(_ context.Context, r hooks.Run) error {
	if r.GlobalStep() >= 50 {
		h.end()
	}
	if h.replaced.Load() {
		h.after++
	}
	if h.after == 200 {
		r.RequestStop("replaced")
	}
	return nil
}

// TestServerReplacedUnderLookups replaces a parameter server in the middle of training,
// while its rows are prefetched. Training resumes from the last checkpoint and ends.
func TestServerReplacedUnderLookups(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	strategy := runconfig.Strategy{Name: "parameter_server", Partitioner: runconfig.Partitioner{Kind: "fixed_shards"}}
	fn := equalModel(rule.SGD{}, 0.1, true)
	dir := t.TempDir()
	open := func(c string) *estimator.Estimator {
		rc, err := runconfig.FromTFConfig(c, runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0),
			runconfig.SaveCheckpointsSteps(20), runconfig.TrainDistribute(strategy))
		if err != nil {
			t.Fatal(err)
		}
		e, err := estimator.New(fn, estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	tasks := equalTasks(t, 2, 2) // chief, worker, ps, ps
	chief, worker, first, second, third := open(tasks[0]), open(tasks[1]), open(tasks[2]), open(tasks[3]), open(tasks[3])
	doomed, end := context.WithCancel(ctx)
	defer end()
	var all sync.WaitGroup
	run := func(what string, f func() error) {
		all.Go(func() {
			if err := f(); err != nil {
				t.Errorf("%s: %v", what, err)
				cancel()
			}
		})
	}
	run("ps 0", func() error { return first.RunParameterServer(ctx) })
	var replaced atomic.Bool
	run("ps 1", func() error {
		if err := second.RunParameterServer(doomed); !errors.Is(err, estimator.ErrInterrupted) {
			return fmt.Errorf("got %w, expected that it is interrupted", err)
		}
		replaced.Store(true)
		return third.RunParameterServer(ctx)
	})
	run("chief", func() error {
		_, err := chief.Train(ctx, forever(estimator.InputFunc(equalData)), estimator.WithHooks(&untilReplaced{end: end, replaced: &replaced}))
		return err
	})
	run("worker", func() error {
		_, err := worker.Train(ctx, forever(estimator.InputFunc(equalData)))
		return err
	})
	all.Wait()
}
