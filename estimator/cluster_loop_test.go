package estimator_test

import (
	"context"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/runconfig"
)

// TestLoopEndsInAllTasks: one task's Close ends the loops of all, chief or not.
func TestLoopEndsInAllTasks(t *testing.T) {
	s := runconfig.Strategy{Name: "multi_worker_mirrored"}
	for closes := range 2 {
		var all sync.WaitGroup
		for rank, text := range equalTasks(t, 2, 0) {
			rc, err := runconfig.FromTFConfig(text, runconfig.ModelDir(t.TempDir()), runconfig.TFRandomSeed(1), runconfig.TrainDistribute(s))
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				ctx := context.Background()
				l, err := estimator.OpenLoop(ctx, equalModel(rule.SGD{}, 0.1, false), estimator.InputFunc(equalData),
					estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					t.Error(err)
					return
				}
				for more := true; more && !(rank == closes && l.GlobalStep() == 3); {
					if more, err = l.Step(ctx); err != nil {
						t.Errorf("rank %d: %v", rank, err)
						return
					}
				}
				if rank != closes {
					if more, err := l.Step(ctx); more || err != nil {
						t.Errorf("rank %d: a step after the end: %v %v", rank, more, err)
					}
				}
				if err := l.Close(ctx); err != nil {
					t.Errorf("rank %d: %v", rank, err)
				}
			})
		}
		all.Wait()
	}
}

// TestLoopReduceAndSave: Reduce combines the values of all tasks in lock step, and
// Save writes a checkpoint of the current step, only on the chief. Another loop
// continues from it.
func TestLoopReduceAndSave(t *testing.T) {
	const steps = 3
	s := runconfig.Strategy{Name: "multi_worker_mirrored"}
	for workers := 1; workers <= 3; workers++ {
		sum, tenths := 0.0, 0.0
		for rank := range workers {
			sum += float64(rank + 1)
			tenths += 0.1 * float64(rank)
		}
		var all sync.WaitGroup
		dir := t.TempDir()
		for rank, text := range equalTasks(t, workers, 0) {
			rc, err := runconfig.FromTFConfig(text, runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.TrainDistribute(s))
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				ctx := context.Background()
				l, err := estimator.OpenLoop(ctx, equalModel(rule.SGD{}, 0.1, false), estimator.InputFunc(equalData),
					estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					t.Error(err)
					return
				}
				defer func() {
					if err := l.Close(ctx); err != nil {
						t.Errorf("rank %d: %v", rank, err)
					}
				}()
				for range steps {
					if more, err := l.Step(ctx); !more || err != nil {
						t.Errorf("rank %d: %v %v", rank, more, err)
						return
					}
					for _, c := range []struct {
						op      estimator.ReduceOp
						x, want float64
					}{{estimator.Sum, float64(rank + 1), sum}, {estimator.Mean, float64(rank + 1), sum / float64(workers)}, {estimator.Sum, 0.1 * float64(rank), tenths}} {
						if got, err := l.Reduce(ctx, c.op, c.x); got != c.want || err != nil {
							t.Errorf("rank %d of %d: reduced to %v, expected %v: %v", rank, workers, got, c.want, err)
						}
					}
				}
				prefix, err := l.Save(ctx)
				if want := filepath.Join(dir, fmt.Sprint("model.ckpt-", steps)); err != nil || rank == 0 && prefix != want || rank > 0 && prefix != "" {
					t.Errorf("rank %d: saved %q, expected %q by the chief alone: %v", rank, prefix, want, err)
				}
			})
		}
		all.Wait()
		r, err := checkpoint.OpenLatest(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		step := r.Step()
		if err := r.Close(); step != steps || err != nil {
			t.Errorf("%d workers: the checkpoint is of step %d, expected %d: %v", workers, step, steps, err)
		}
		if workers > 1 {
			continue // the input position is for this number of workers
		}
		rc, err := runconfig.New(runconfig.ModelDir(dir), runconfig.TFRandomSeed(1))
		if err != nil {
			t.Fatal(err)
		}
		l, err := estimator.OpenLoop(t.Context(), equalModel(rule.SGD{}, 0.1, false), estimator.InputFunc(equalData), estimator.WithRunConfig(rc))
		if err != nil {
			t.Fatal(err)
		}
		if l.GlobalStep() != steps {
			t.Errorf("a loop goes on from step %d, expected %d", l.GlobalStep(), steps)
		}
		if x, err := l.Reduce(t.Context(), estimator.Mean, 7); x != 7 || err != nil {
			t.Errorf("one task: reduced to %v, %v", x, err)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
