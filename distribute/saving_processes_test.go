package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/tensor"
)

// tableJob is a job with a table on two servers; the test is its chief.
type tableJob struct {
	*processes
	*tableProgram
	c    *distribute.Coordinator
	next int64 // batch
}

// runTable runs a program on the chief of a tableJob, and then ends the job.
func runTable(t *testing.T, program func(ctx context.Context, j *tableJob) error) {
	t.Helper()
	t.Setenv(partitionerVariable, "fixed_shards")
	p := newProcessesOf(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	rc, err := taskConfig(p.configs["chief-0"], p.dir)
	if err != nil {
		t.Fatal(err)
	}
	x, err := newTableProgram(rc)
	if err != nil {
		t.Fatal(err)
	}
	c, err := distribute.NewCoordinator(ctx, x.Strategy)
	if err == nil {
		err = errors.Join(program(ctx, &tableJob{processes: p, tableProgram: x, c: c}), c.Close(ctx))
	}
	if err = errors.Join(err, x.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	p.end()
}

// schedule queues steps.
func (j *tableJob) schedule(ctx context.Context, n int) error {
	for range n {
		if _, err := j.c.Schedule(ctx, j.step, tensor.Scalar(j.next)); err != nil {
			return err
		}
		j.next++
	}
	return nil
}

// steps runs steps to their end.
func (j *tableJob) steps(ctx context.Context, n int) error {
	if err := j.schedule(ctx, n); err != nil {
		return err
	}
	return j.c.Join(ctx)
}

// saved returns the newest checkpoint, which must be complete: the table and its slots are split as on the servers.
func (j *tableJob) saved() map[string]*tensor.Tensor {
	values, infos := newestTensors(j.t, j.dir+"/model")
	for _, name := range []string{tableName, tableName + "/Adam", tableName + "/Adam_1"} {
		if n := len(infos[name].Slices); n != 2 {
			j.t.Errorf("%s is saved in %d slices, expected 2", name, n)
		}
	}
	return values
}

// isAt compares the variables on the servers with those of a checkpoint.
func (j *tableJob) isAt(saved map[string]*tensor.Tensor) error {
	for _, name := range []string{tableName, "dense/kernel", "dense/bias", "global_step"} {
		got, err := j.Variable(name)
		if err != nil {
			return err
		}
		if want := saved[name]; want == nil || string(got.Bytes) != string(want.Bytes) {
			return fmt.Errorf("%s is not that of the checkpoint", name)
		}
	}
	return nil
}

// TestSaveWhileWorkersComeBack: checkpoints that are written while one worker is away or comes back, and the
// other one trains, are complete, and all their parts are of the same step.
func TestSaveWhileWorkersComeBack(t *testing.T) {
	runTable(t, func(ctx context.Context, j *tableJob) error {
		last, err := int64(-1), error(nil)
		for round := range 4 {
			if err := j.schedule(ctx, 30); err != nil {
				return err
			}
			worker := fmt.Sprint("worker-", round%2)
			j.kill(worker)
			if round > 1 { // otherwise it is away while the checkpoint is written
				j.start(worker)
			}
			if _, err := j.Save(ctx); err != nil {
				return err
			}
			if round < 2 {
				j.start(worker)
			}
			step := j.saved()["global_step"].Int(0)
			if step < last {
				t.Errorf("round %d: saved step %d after %d", round, step, last)
			}
			if err := j.c.Join(ctx); err != nil {
				return err
			}
			if last, err = j.saveAtRest(ctx); err != nil {
				return err
			}
			if last < j.next {
				t.Errorf("round %d: step %d after %d steps", round, last, j.next)
			}
		}
		return nil
	})
}

// saveAtRest saves until the checkpoint has the current values of the variables, since pushes of a killed worker
// may still arrive. It returns the step.
func (j *tableJob) saveAtRest(ctx context.Context) (int64, error) {
	for {
		if _, err := j.Save(ctx); err != nil {
			return 0, err
		}
		saved := j.saved()
		err := j.isAt(saved)
		if err == nil || ctx.Err() != nil {
			return saved["global_step"].Int(0), err
		}
	}
}

// TestRestoreWhileWorkersComeBack: both servers and a worker are lost, which Join reports. The chief restores as soon as the
// servers are back. The other worker reconnects, the lost one comes later, and steps continue from the checkpoint.
func TestRestoreWhileWorkersComeBack(t *testing.T) {
	runTable(t, func(ctx context.Context, j *tableJob) error {
		if err := j.steps(ctx, 20); err != nil {
			return err
		}
		prefix, err := j.Save(ctx)
		if err != nil {
			return err
		}
		saved := j.saved()
		if err := j.steps(ctx, 10); err != nil { // these steps are lost
			return err
		}
		for _, name := range []string{"ps-0", "ps-1", "worker-1"} {
			j.kill(name)
		}
		if err := j.steps(ctx, 10); !errors.Is(err, distribute.ErrServersLost) {
			return fmt.Errorf("%w, expected ErrServersLost", err)
		}
		j.start("ps-0")
		j.start("ps-1")
		step, err := j.Restore(ctx)
		if err != nil {
			return err
		}
		if want := saved["global_step"].Int(0); step != want {
			t.Errorf("restored step %d, expected %d of %s", step, want, prefix)
		}
		if err := j.isAt(saved); err != nil {
			return err
		}
		j.start("worker-1")
		if err := j.steps(ctx, 20); err != nil {
			return err
		}
		if _, err := j.Save(ctx); err != nil {
			return err
		}
		if got := j.saved()["global_step"].Int(0); got < step+20 {
			t.Errorf("step %d, expected at least 20 more than %d", got, step)
		}
		r, err := checkpoint.Open(prefix) // the first checkpoint is still complete
		if err != nil {
			return err
		}
		return errors.Join(r.Verify(), r.Close())
	})
}
