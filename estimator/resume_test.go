package estimator_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
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

// cancelAt cancels the context of the training at a step.
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
