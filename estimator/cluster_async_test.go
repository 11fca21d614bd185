package estimator_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/runconfig"
)

// TestAsynchronousWorkersReadTheirShares: every worker trains on all of its share, even
// if it starts when the others are done. Rows are prefetched.
func TestAsynchronousWorkersReadTheirShares(t *testing.T) {
	const batches = (equalSteps*equalBatch/3 + equalBatch - 1) / equalBatch // of each worker
	s := runconfig.Strategy{Name: "parameter_server"}
	for _, r := range trainCluster(t, t.TempDir(), 3, 2, s, func(rank int, m *member) {
		m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
			if rank == 2 {
				time.Sleep(time.Second)
			}
			return e.Train(ctx, m.input)
		}
	}) {
		if r.err != nil {
			t.Errorf("%s: %v", r.task, r.err)
		}
		if r.task == "chief" && (r.GlobalStep != 3*batches || r.StopReason != estimator.StopEndOfInput) {
			t.Errorf("chief: %+v, expected step %d at the end of the input", r.TrainResult, 3*batches)
		}
	}
}

// TestChiefIsInterruptedWhileOthersTrain: a chief that is at the end of its input and
// waits for the others saves and ends when it is interrupted.
func TestChiefIsInterruptedWhileOthersTrain(t *testing.T) {
	bounded, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	chief, cancel := context.WithCancelCause(bounded)
	defer cancel(nil)
	worker, stop := context.WithCancelCause(bounded)
	defer stop(nil)
	var chiefSteps atomic.Int64
	dir := t.TempDir()
	for _, r := range trainCluster(t, dir, 2, 1, runconfig.Strategy{Name: "parameter_server"}, func(rank int, m *member) {
		if rank == 0 {
			m.ctx = chief
			m.opts = append(m.opts, estimator.WithHooks(hookFuncs{after: func(hooks.Run) error { chiefSteps.Add(1); return nil }}))
			m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
				defer stop(errStopHere)
				return e.Train(ctx, m.input, m.opts...)
			}
			return
		}
		m.ctx = worker
		m.input = estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
			ds, err := equalData(ctx, ic)
			if err != nil {
				return nil, err
			}
			return inputs.Pipe(ds, inputs.Repeat(0)), nil
		})
		m.opts = append(m.opts, estimator.WithHooks(hookFuncs{after: func(r hooks.Run) error {
			if chiefSteps.Load() == equalSteps/2 && r.GlobalStep() > equalSteps { // the chief has no input left
				cancel(errStopHere)
			}
			return nil
		}}))
	}) {
		if r.task != "ps" && !errors.Is(r.err, estimator.ErrInterrupted) {
			t.Errorf("%s: %v, expected an interruption", r.task, r.err)
		}
		if r.task == "chief" && r.GlobalStep <= equalSteps/2+1 {
			t.Errorf("the chief saved at step %d, expected steps of the other worker in it", r.GlobalStep)
		}
	}
}

// TestBackupWorkers: a step takes the batches of as many workers as it aggregates.
func TestBackupWorkers(t *testing.T) {
	s := runconfig.Strategy{Name: "parameter_server", Sync: true, ReplicasToAggregate: 2}
	for _, r := range trainCluster(t, t.TempDir(), 3, 1, s, func(rank int, m *member) {
		m.opts = []estimator.TrainOption{estimator.MaxSteps(10)}
		m.input = estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
			if ic.ReplicasInSync != 2 || ic.NumPipelines != 3 || ic.Pipeline != rank {
				t.Errorf("rank %d: %+v, expected 2 replicas in sync and 3 pipelines", rank, ic)
			}
			return equalData(ctx, ic)
		})
	}) {
		if r.err != nil || r.task == "chief" && r.GlobalStep != 10 {
			t.Errorf("%s: %+v", r.task, r)
		}
	}
}
