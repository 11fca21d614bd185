package estimator_test

import (
	"context"
	"errors"
	"github.com/goestimator/goestimator/internal/training/rule"
	"io"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/runconfig"
)

// slowData blocks before a batch until the training is interrupted.
type slowData struct {
	inputs.Dataset
	batch  int // from 0; -1: none
	cancel context.CancelCauseFunc
}

func (d slowData) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := d.Dataset.Iterate(ctx)
	return &slowIterator{it, d, 0}, err
}

type slowIterator struct {
	inputs.Iterator
	d slowData
	n int
}

func (it *slowIterator) Next(ctx context.Context) (arrow.Record, error) {
	if it.n == it.d.batch {
		it.d.cancel(errStopHere)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	it.n++
	return it.Iterator.Next(ctx)
}

// TestInterruptedBetweenReplicas: if training is interrupted between the reads for two
// replicas, the first batch is read again.
func TestInterruptedBetweenReplicas(t *testing.T) {
	fn := equalModel(rule.SGD{}, 0.1, false)
	rc := func(dir string) runconfig.RunConfig {
		c, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0),
			runconfig.TrainDistribute(runconfig.Strategy{Name: "mirrored", Replicas: 2}))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	whole, cut := t.TempDir(), t.TempDir()
	train := func(dir string, stop int) error {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(io.EOF)
		_, err := custom(t, fn, dir, estimator.WithRunConfig(rc(dir))).Train(ctx, estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
			ds, err := equalData(ctx, ic)
			return slowData{ds, stop, cancel}, err
		}), estimator.MaxSteps(20))
		return err
	}
	if err := train(whole, -1); err != nil {
		t.Fatal(err)
	}
	if err := train(cut, 11); !errors.Is(err, estimator.ErrInterrupted) {
		t.Fatalf("got %v, expected an interruption", err)
	}
	if err := train(cut, -1); err != nil {
		t.Fatal(err)
	}
	compareCheckpoints(t, whole, cut, "model.ckpt-20")
}
