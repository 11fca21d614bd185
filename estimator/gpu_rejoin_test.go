package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/runtime/gpus/gpustest"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/runconfig"
)

// TestGPUWorkersRestore: if workers on GPUs go back to a checkpoint because one was lost, they drop the batches that were
// copied ahead. The losses equal those of undisturbed workers on the host.
func TestGPUWorkersRestore(t *testing.T) {
	testkit.NotConcurrent(t)
	for _, name := range []string{"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"} {
		t.Setenv(name, "")
	}
	const last = 20
	run := func(device string, kill int) map[int64]float64 {
		var chief watched
		source := gpustest.Emulated(t, 2)
		res := trainCluster(t, t.TempDir(), 2, 0, runconfig.Strategy{Name: "multi_worker_mirrored", Device: device}, func(rank int, m *member) {
			m.run = append(m.run, patient, runconfig.SaveCheckpointsSteps(5))
			m.est = append(m.est, estimator.WithGPUs(gpustest.Window(source, rank, 1)))
			m.opts = []estimator.TrainOption{estimator.MaxSteps(last)}
			if rank == 0 {
				m.opts = append(m.opts, estimator.WithHooks(chief.hook()))
				return
			}
			m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
				if kill > 0 {
					dies := afterEach(func(_ hooks.Run, made int) error {
						if made == kill {
							return errKilled
						}
						return nil
					})
					if _, err := e.Train(ctx, m.input, append(m.opts, estimator.WithHooks(dies))...); !errors.Is(err, errKilled) {
						return estimator.TrainResult{}, fmt.Errorf("expected to be killed, got %w", err)
					}
				}
				return e.Train(ctx, m.input, m.opts...)
			}
		})
		for i, r := range res {
			if r.err != nil || r.GlobalStep != last {
				t.Fatalf("%s %d: step %d, %v", r.task, i, r.GlobalStep, r.err)
			}
		}
		return chief.losses
	}
	want, got := run("/cpu:0", 0), run("", 8)
	for step := int64(1); step <= last; step++ {
		if d := math.Abs(got[step] - want[step]); !(d <= 1e-4*want[step]) {
			t.Errorf("step %d: loss %v, expected %v", step, got[step], want[step])
		}
	}
}
