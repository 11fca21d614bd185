package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/runconfig"
)

func highestLoss() *estimator.RestoreBest {
	return &estimator.RestoreBest{Metric: "loss", HigherIsBetter: true, MinSteps: 10}
}

// TestRestoreBestOfStepsMadeAgain: if the last checkpoint is lost, its steps are repeated, and end with the best weights, too.
func TestRestoreBestOfStepsMadeAgain(t *testing.T) {
	dir, local := t.TempDir(), runconfig.Strategy{Name: "default"}
	for range 2 {
		if _, err := trainRestoring(t, dir, 30, local, highestLoss(), estimator.EvalSpec{Input: &toyData{}}); err != nil {
			t.Fatal(err)
		}
		checkRestored(t, dir, "30", "10")
		lost, err := filepath.Glob(filepath.Join(dir, "model.ckpt-30.*"))
		if err != nil || len(lost) == 0 {
			t.Fatalf("files %q, %v", lost, err)
		}
		for _, path := range lost {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// interrupting is a hook that ends a context while the checkpoint of a step is written.
type interrupting struct {
	hooks.Base
	at, step int64
	stop     context.CancelFunc
}

func (h *interrupting) AfterRun(_ context.Context, r hooks.Run) error {
	h.step = r.GlobalStep()
	return nil
}

func (*interrupting) StateKey() string             { return "interrupting" }
func (*interrupting) UnmarshalBinary([]byte) error { return nil }
func (h *interrupting) MarshalBinary() ([]byte, error) {
	if h.step == h.at {
		h.stop()
	}
	return nil, nil
}

// TestRestoreBestInterrupted: a signal while the checkpoint of the best evaluation is written ends training as usual, and no step is lost.
func TestRestoreBestInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	best := &estimator.RestoreBest{Metric: "loss", HigherIsBetter: true, MinSteps: 15}
	train := estimator.TrainSpec{Input: forever(&toyData{}), MaxSteps: 50, RestoreBest: best, Hooks: []hooks.Hook{&interrupting{at: 15, stop: cancel}}}
	_, err := trainRestoringSpec(ctx, t, dir, train, runconfig.Strategy{Name: "default"}, estimator.EvalSpec{Input: &toyData{}, EverySteps: 15})
	if !errors.Is(err, estimator.ErrInterrupted) {
		t.Errorf("got %v, expected an interrupted training", err)
	}
	openCheckpoint(t, dir, "model.ckpt-15")
}

// counting is an evaluation hook that counts evaluations.
type counting struct {
	hooks.Base
	n int
}

func (h *counting) End(context.Context, hooks.Run) error { h.n++; return nil }

// TestRestoreBestKilledBeforeItsEvaluation: if a run is killed between the restored checkpoint and its evaluation, the next run, and
// only that, evaluates it, whatever values the evaluations have.
func TestRestoreBestKilledBeforeItsEvaluation(t *testing.T) {
	dir, local := t.TempDir(), runconfig.Strategy{Name: "default"}
	if _, err := trainRestoring(t, dir, 20, local, highestLoss(), estimator.EvalSpec{Input: &toyData{}}); err != nil {
		t.Fatal(err)
	}
	err := checkpoint.UpdateRunState(atomicfile.OS{}, dir, func(s *checkpoint.RunState) { s.Best.Evaluated = 0 })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		h := &counting{}
		if _, err := trainRestoring(t, dir, 20, local, highestLoss(), estimator.EvalSpec{Input: &toyData{}, Hooks: []hooks.Hook{h}}); err != nil || h.n != want {
			t.Errorf("%d evaluations, %v, expected %d", h.n, err, want)
		}
	}
}

// exports is an exporter that records the evaluations it gets.
type exports struct{ seen *[]string }

func (exports) Name() string { return "seen" }
func (x exports) Export(_ context.Context, _ *estimator.Estimator, _ string, ev estimator.Evaluation) (string, error) {
	*x.seen = append(*x.seen, fmt.Sprint(ev.GlobalStep, " ", ev.Final, " ", ev.Restored))
	return "", nil
}

// TestInputEndsBehindAnEvaluation: the last step is not evaluated again, and exporters see its evaluation as final. Restored best weights
// are evaluated and exported.
func TestInputEndsBehindAnEvaluation(t *testing.T) {
	for _, c := range []struct {
		name        string
		best        *estimator.RestoreBest
		evaluations int
		seen        []string
	}{
		{"the last weights", nil, 2, []string{"10 false false", "20 false false", "20 true false"}},
		{"the last is the best", &estimator.RestoreBest{Metric: "loss"}, 2, []string{"10 false false", "20 false false", "20 true false"}},
		{"the first is the best", highestLoss(), 3, []string{"10 false false", "20 false false", "20 true true"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen []string
			h := &counting{}
			train := estimator.TrainSpec{Input: &toyData{rows: 80}, RestoreBest: c.best}
			eval := estimator.EvalSpec{Input: &toyData{}, Hooks: []hooks.Hook{h}, Exporters: []estimator.Exporter{exports{&seen}}}
			if _, err := trainRestoringSpec(t.Context(), t, t.TempDir(), train, runconfig.Strategy{Name: "default"}, eval); err != nil {
				t.Fatal(err)
			}
			if h.n != c.evaluations {
				t.Errorf("%d evaluations, expected %d", h.n, c.evaluations)
			}
			if diff := cmp.Diff(c.seen, seen); diff != "" {
				t.Error(diff)
			}
		})
	}
}
