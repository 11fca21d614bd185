package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// stepCounter counts steps and their rows.
type stepCounter struct {
	hooks.Base
	steps, rows int
}

func (h *stepCounter) AfterRun(_ context.Context, r hooks.Run) error {
	h.steps++
	h.rows += r.BatchSize()
	return nil
}

// under returns an Estimator with these options for a trained toy model.
func under(t *testing.T, dir string, opts ...runconfig.Option) *estimator.Estimator {
	t.Helper()
	rc, err := runconfig.FromTFConfig("", append(opts, runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0))...)
	if err != nil {
		t.Fatal(err)
	}
	return toy(t, dir, estimator.WithRunConfig(rc))
}

func trainedToy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := toy(t, dir).Train(t.Context(), forever(&toyData{}), estimator.MaxSteps(7)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func mirrored(name string, replicas int) runconfig.Strategy {
	return runconfig.Strategy{Name: name, Replicas: replicas}
}

// TestReplicasEvaluateAsOne: each replica takes a batch in every step, and the metrics are bit-identical to the metrics of
// one replica, with smaller last batches, replicas without rows, and a limit of batches.
func TestReplicasEvaluateAsOne(t *testing.T) {
	dir := trainedToy(t)
	for _, rows := range []int{1, 4, 10, 27} {
		want, err := under(t, dir).Evaluate(t.Context(), &toyData{rows: rows})
		if err != nil {
			t.Fatal(err)
		}
		for name, opt := range map[string]runconfig.Option{
			"mirrored":        runconfig.TrainDistribute(mirrored("mirrored", 3)),
			"central_storage": runconfig.TrainDistribute(mirrored("central_storage", 2)),
			"multi_worker":    runconfig.TrainDistribute(mirrored("multi_worker_mirrored", 2)),
			"eval_distribute": runconfig.EvalDistribute(mirrored("mirrored", 2)),
		} {
			e, count := under(t, dir, opt), &stepCounter{}
			got, err := e.Evaluate(t.Context(), &toyData{rows: rows}, estimator.WithHooks(count))
			if err != nil {
				t.Fatal(err)
			}
			compareResults(t, fmt.Sprint(name, ", ", rows, " rows"), want, got)
			replicas := 2
			if name == "mirrored" {
				replicas = 3
			}
			if batches := (rows + 3) / 4; count.steps != (batches+replicas-1)/replicas || count.rows != rows {
				t.Errorf("%s: %d steps of %d rows for %d batches, expected all %d replicas to take part", name, count.steps, count.rows, batches, replicas)
			}
		}
	}
	want, err := under(t, dir).Evaluate(t.Context(), &toyData{rows: 27}, estimator.Steps(5))
	if err != nil {
		t.Fatal(err)
	}
	got, err := under(t, dir, runconfig.TrainDistribute(mirrored("mirrored", 3))).Evaluate(t.Context(), &toyData{rows: 27}, estimator.Steps(5))
	if err != nil {
		t.Fatal(err)
	}
	compareResults(t, "5 batches", want, got)
}

func compareResults(t *testing.T, name string, want, got estimator.EvalResult) {
	t.Helper()
	for _, metric := range []string{"loss", "rmse"} {
		w, _ := want.Scalar(metric)
		if g, ok := got.Scalar(metric); !ok || g != w {
			t.Errorf("%s: %s is %v, expected %v", name, metric, g, w)
		}
	}
	if got.GlobalStep != want.GlobalStep {
		t.Errorf("%s: step %d, expected %d", name, got.GlobalStep, want.GlobalStep)
	}
}

// predictedToys returns the predictions of a model, in order.
func predictedToys(t *testing.T, e *estimator.Estimator, in estimator.InputFn, opts ...estimator.PredictOption) (y []float32, err error) {
	t.Helper()
	for p, err := range e.Predict(t.Context(), in, opts...) {
		if err != nil {
			return y, err
		}
		y = append(y, tensor.Values[float32](p.Get("y"))[0])
	}
	return y, nil
}

// TestReplicasPredictAsOne: all replicas yield each row once, in order, also before an error of the input.
func TestReplicasPredictAsOne(t *testing.T) {
	dir := trainedToy(t)
	three := runconfig.TrainDistribute(mirrored("mirrored", 3))
	for _, rows := range []int{1, 4, 10, 27} {
		want, err := predictedToys(t, under(t, dir), &toyData{rows: rows})
		if err != nil || len(want) != rows {
			t.Fatalf("%d rows of %d: %v", len(want), rows, err)
		}
		count := &stepCounter{}
		got, err := predictedToys(t, under(t, dir, three), &toyData{rows: rows}, estimator.WithHooks(count))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: %v, expected %v", err, got, want)
		}
		if batches := (rows + 3) / 4; count.steps != (batches+2)/3 {
			t.Errorf("%d steps for %d batches, expected 3 replicas to take part", count.steps, batches)
		}
	}
	if y, err := predictedToys(t, under(t, dir, three), cutData(0, io.EOF)); len(y) != 0 || err != nil {
		t.Errorf("no input: %v, %v", y, err)
	}
	broken := errors.New("the disk is gone")
	for _, opt := range []runconfig.Option{three, runconfig.TrainDistribute(runconfig.Strategy{Name: "default"})} {
		if y, err := predictedToys(t, under(t, dir, opt), cutData(5, broken)); len(y) != 20 || !errors.Is(err, broken) {
			t.Errorf("%d rows and %v, expected the rows of 5 batches and the error", len(y), err)
		}
	}
	if _, err := under(t, dir, three).Evaluate(t.Context(), cutData(0, io.EOF)); !errors.Is(err, inputs.ErrEmpty) {
		t.Errorf("%v, expected ErrEmpty", err)
	}
}

// cutData is the toy data, ended by an error after some batches.
func cutData(batches int, end error) estimator.InputFn {
	return estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := (&toyData{rows: 40}).Input(ctx, ic)
		return cutDataset{ds, batches, end}, err
	})
}

type cutDataset struct {
	inputs.Dataset
	batches int
	end     error
}

func (d cutDataset) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := d.Dataset.Iterate(ctx)
	return &cutIterator{it, d}, err
}

type cutIterator struct {
	inputs.Iterator
	d cutDataset
}

func (it *cutIterator) Next(ctx context.Context) (arrow.Record, error) {
	if it.d.batches == 0 {
		return nil, it.d.end
	}
	it.d.batches--
	return it.Iterator.Next(ctx)
}
