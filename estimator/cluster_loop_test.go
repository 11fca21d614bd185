package estimator_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models/optimizers"
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
				l, err := estimator.OpenLoop(ctx, equalModel(optimizers.SGD{}, 0.1, false), estimator.InputFunc(equalData),
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
