package estimator_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/runconfig"
)

// shared gives each pipeline its share of the toy data: 10 rows over 3 workers are 4, 3 and 3.
func shared(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
	ds, err := (&toyData{}).Input(ctx, inputs.Context{Mode: ic.Mode})
	if err != nil {
		return nil, err
	}
	ds = inputs.Pipe(ds, inputs.Shard(ic.Pipeline, ic.NumPipelines))
	if ic.Mode == inputs.Train {
		ds = inputs.Pipe(ds, inputs.Repeat(0))
	}
	return inputs.Pipe(ds, inputs.Batch(2, false)), nil
}

// TestEvaluationOnAllWorkers: every example counts once. All workers have bit-identical metrics, equal to the
// metrics of one process over all the data.
func TestEvaluationOnAllWorkers(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		t.Run(fmt.Sprint(replicas, " replicas each"), func(t *testing.T) { evaluateOnAll(t, replicas) })
	}
}

func evaluateOnAll(t *testing.T, replicas int) {
	const workers = 3
	ports, err := freeport.Reserve(workers)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	cluster := fmt.Sprintf(`"chief":[%q],"worker":[%q,%q]`, ports.Address(0), ports.Address(1), ports.Address(2))
	tasks := []string{`"chief","index":0`, `"worker","index":0`, `"worker","index":1`}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	var results [workers]estimator.Result
	var all sync.WaitGroup
	for i, task := range tasks {
		strategy := runconfig.Strategy{Name: "multi_worker_mirrored", Replicas: replicas, DistributedEval: true}
		rc, err := runconfig.FromTFConfig(fmt.Sprintf(`{"cluster":{%s},"task":{"type":%s}}`, cluster, task), runconfig.ModelDir(dir),
			runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0), runconfig.TrainDistribute(strategy))
		if err != nil {
			t.Fatal(err)
		}
		e, err := estimator.New(estimator.ModelFunc(toyModel), estimator.WithRunConfig(rc))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		all.Go(func() {
			input := estimator.InputFunc(shared)
			res, err := estimator.TrainAndEvaluate(ctx, e, estimator.TrainSpec{Input: input, MaxSteps: 5}, estimator.EvalSpec{Input: input})
			if err != nil {
				t.Errorf("task %s: %v", task, err)
			}
			results[i] = res
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	alone, err := toy(t, dir).Evaluate(ctx, &toyData{})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := alone.Scalar("rmse")
	for i, r := range results {
		if r.GlobalStep != 5 || r.Eval == nil {
			t.Fatalf("worker %d: %+v, expected an evaluation at step 5", i, r)
		}
		got, _ := r.Eval.Scalar("rmse")
		if first, _ := results[0].Eval.Scalar("rmse"); got != first {
			t.Errorf("worker %d: rmse %v, worker 0 has %v", i, got, first)
		}
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("worker %d: rmse %v, one process has %v", i, got, want)
		}
	}
}
