package estimator_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
)

// TestResumedTrainingIsBitIdentical trains in one go and in pieces, and
// compares the last checkpoints byte for byte.
func TestResumedTrainingIsBitIdentical(t *testing.T) {
	ctx := context.Background()
	model := glyphModel(t, "cnn", map[string]any{"dropout": 0.25})
	whole, pieces := t.TempDir(), t.TempDir()
	input := glyphs(16, 300)
	if _, err := newEstimator(t, model, whole).Train(ctx, input, estimator.MaxSteps(50)); err != nil {
		t.Fatal(err)
	}
	for _, last := range []int64{7, 8, 33, 50} {
		if _, err := newEstimator(t, model, pieces).Train(ctx, input, estimator.MaxSteps(last)); err != nil {
			t.Fatal(err)
		}
	}
	compareCheckpoints(t, whole, pieces, "model.ckpt-50")
}

func compareCheckpoints(t *testing.T, a, b, name string) {
	t.Helper()
	for _, suffix := range []string{".index", ".data-00000-of-00001"} {
		x, err := os.ReadFile(filepath.Join(a, name+suffix))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(b, name+suffix))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(x, y) {
			t.Errorf("%s%s differs between the uninterrupted and the resumed run", name, suffix)
		}
	}
}

// cancelAt cancels the context of training at a step.
type cancelAt struct {
	hooks.Base
	step   int64
	cancel context.CancelCauseFunc
}

func (h *cancelAt) AfterRun(_ context.Context, r hooks.Run) error {
	if r.GlobalStep() == h.step {
		h.cancel(errStopHere)
	}
	return nil
}

var errStopHere = errors.New("stop here")

func TestInterruptedTrainingSavesAndResumes(t *testing.T) {
	model := glyphModel(t, "linear", nil)
	whole, cut := t.TempDir(), t.TempDir()
	if _, err := newEstimator(t, model, whole).Train(context.Background(), glyphs(16, 300), estimator.MaxSteps(30)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	_, err := newEstimator(t, model, cut).Train(ctx, glyphs(16, 300), estimator.MaxSteps(30), estimator.WithHooks(&cancelAt{step: 13, cancel: cancel}))
	if !errors.Is(err, estimator.ErrInterrupted) || !errors.Is(err, errStopHere) {
		t.Fatalf("got error %v, expected ErrInterrupted with its cause", err)
	}
	e := newEstimator(t, model, cut)
	if prefix, err := e.LatestCheckpoint(); err != nil || filepath.Base(prefix) != "model.ckpt-13" {
		t.Fatalf("latest checkpoint %q (%v), expected model.ckpt-13", prefix, err)
	}
	if _, err := e.Train(context.Background(), glyphs(16, 300), estimator.MaxSteps(30)); err != nil {
		t.Fatal(err)
	}
	compareCheckpoints(t, whole, cut, "model.ckpt-30")
}

// TestFirstRunThatFailed: after a run that failed before its first step, the next run may have another input or
// model, and shows no trace of the failed run.
func TestFirstRunThatFailed(t *testing.T) {
	broken := estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Glyphs(ic.Seed, 300, ic.Allocator)
		if err != nil {
			return nil, err
		}
		fail := inputs.Mapper{Name: "fail", Map: func(context.Context, arrow.Record, inputs.Rows) (arrow.Record, error) { return nil, errStopHere }}
		return inputs.Pipe(ds, inputs.Batch(16, false), inputs.Map(fail)), nil
	})
	whole := t.TempDir()
	if _, err := newEstimator(t, glyphModel(t, "linear", nil), whole).Train(t.Context(), glyphs(16, 300), estimator.MaxSteps(5)); err != nil {
		t.Fatal(err)
	}
	for name, first := range map[string]estimator.ModelFn{"other input": glyphModel(t, "linear", nil), "other model": glyphModel(t, "cnn", nil)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := newEstimator(t, first, dir).Train(t.Context(), broken, estimator.MaxSteps(5)); !errors.Is(err, errStopHere) {
				t.Fatalf("got %v, expected the input's error", err)
			}
			if _, err := os.Stat(filepath.Join(dir, "model.ckpt-0.index")); err != nil {
				t.Fatalf("the failed run left no checkpoint: %v", err)
			}
			if _, err := newEstimator(t, glyphModel(t, "linear", nil), dir).Train(t.Context(), glyphs(16, 300), estimator.MaxSteps(5)); err != nil {
				t.Fatal(err)
			}
			compareCheckpoints(t, whole, dir, "model.ckpt-5")
		})
	}
	if _, err := newEstimator(t, glyphModel(t, "cnn", nil), whole).Train(t.Context(), glyphs(16, 300), estimator.MaxSteps(9)); err == nil {
		t.Error("a checkpoint of step 5 of another model was passed over")
	}
	_, err := newEstimator(t, glyphModel(t, "linear", nil), whole).Train(t.Context(), glyphs(15, 300), estimator.MaxSteps(9))
	if !errors.Is(err, inputs.ErrStateMismatch) || !strings.HasPrefix(err.Error(), "set the input's batch_size to 16 again, which is 15 now, or train in another model_dir, ") {
		t.Errorf("got %v, expected what to set at its beginning", err)
	}
}

// twoBatches is a data set, from a function, that must not be asked for a third batch.
type twoBatches struct{ inputs.Dataset }

func (p twoBatches) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := p.Dataset.Iterate(ctx)
	return &twoBatchIterator{Iterator: it}, err
}

type twoBatchIterator struct {
	inputs.Iterator
	batches int
}

func (p *twoBatchIterator) Next(ctx context.Context) (arrow.Record, error) {
	if p.batches++; p.batches > 2 {
		panic("the third batch is asked for")
	}
	return p.Iterator.Next(ctx)
}

// TestNoBatchTooMany: a training that max_steps ends asks a data set from a function for no further batch.
func TestNoBatchTooMany(t *testing.T) {
	input := estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := (&toyData{}).Input(ctx, ic)
		return twoBatches{ds}, err
	})
	if res, err := toy(t, t.TempDir()).Train(t.Context(), input, estimator.MaxSteps(2)); err != nil || res.GlobalStep != 2 {
		t.Errorf("got %+v, %v", res, err)
	}
}

// TestTrainingAgain: each call of a loop trains on all rows; a program that is started again has nothing to do. After an input
// has ended, training on other rows begins with the first one.
func TestTrainingAgain(t *testing.T) {
	train := func(e *estimator.Estimator, data *toyData, opts ...estimator.TrainOption) (estimator.TrainResult, error) {
		t.Helper()
		return e.Train(t.Context(), data, opts...)
	}
	expect := func(step int64, res estimator.TrainResult, err error) {
		t.Helper()
		if err != nil || res.GlobalStep != step || res.StopReason != estimator.StopEndOfInput {
			t.Fatalf("got %+v, %v: expected the end of the input at step %d", res, err, step)
		}
	}
	dir := t.TempDir()
	e := toy(t, dir)
	for _, step := range []int64{3, 6, 9} {
		res, err := train(e, &toyData{})
		expect(step, res, err)
	}
	var log bytes.Buffer
	started := toy(t, dir, estimator.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	res, err := train(started, &toyData{})
	if expect(9, res, err); !strings.Contains(log.String(), "the checkpoint of step 9 is behind the last row of this input") {
		t.Errorf("logged %q", log.String())
	}
	res, err = train(toy(t, dir), &toyData{rows: 5})
	expect(11, res, err)
	res, err = train(toy(t, dir), &toyData{})
	expect(14, res, err)

	// If MaxSteps ends training exactly after the last row, the input has ended, too.
	if res, err = train(toy(t, dir), &toyData{rows: 5}, estimator.MaxSteps(16)); err != nil || res.GlobalStep != 16 {
		t.Fatalf("got %+v, %v: expected step 16", res, err)
	}
	res, err = train(toy(t, dir), &toyData{})
	expect(19, res, err)

	// In the middle of an input, another input is refused.
	if res, err = train(toy(t, dir), &toyData{rows: 5}, estimator.MaxSteps(20)); err != nil || res.GlobalStep != 20 {
		t.Fatalf("got %+v, %v: expected step 20", res, err)
	}
	if _, err = train(toy(t, dir), &toyData{}); !errors.Is(err, inputs.ErrStateMismatch) {
		t.Errorf("in the midst of another input: got %v", err)
	}
	e = toy(t, t.TempDir())
	for _, step := range []int64{3, 6} {
		if res, err := train(e, &toyData{}, estimator.Steps(3)); err != nil || res.GlobalStep != step {
			t.Fatalf("got %+v, %v: expected step %d", res, err, step)
		}
	}
}
