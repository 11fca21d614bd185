package estimator_test

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/runconfig"
)

// TestStopsWithTheEvaluation: training ends at the step whose evaluation says so, whether of a checkpoint (every 10 steps) or in
// memory, with the last weights or the best. Each evaluation is reported once, and the last one as final. The best evaluation has
// the highest loss, and so is the first.
func TestStopsWithTheEvaluation(t *testing.T) {
	for name, c := range map[string]struct {
		every   int64 // evaluations in memory
		restore bool
		stop    int64
		evals   []int64 // in order; the last is final
	}{
		"checkpoints":                  {0, false, 30, []int64{10, 20, 30, 30}},
		"checkpoints, best weights":    {0, true, 30, []int64{10, 20, 30, 30}},
		"in memory":                    {5, false, 25, []int64{5, 10, 10, 15, 20, 20, 25, 25}},
		"in memory, with best weights": {5, true, 25, []int64{5, 10, 10, 15, 20, 20, 25, 25, 25}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "model")
			h, err := hooks.NewStopIfNoImprovement(hooks.Watch{EvalDir: filepath.Join(dir, "eval"), Metric: "loss", HigherIsBetter: true, Every: hooks.Every{Steps: 1}}, 20)
			if err != nil {
				t.Fatal(err)
			}
			var best *estimator.RestoreBest
			if c.restore {
				best = &estimator.RestoreBest{Metric: "loss", HigherIsBetter: true}
			}
			var evals []int64
			finals := 0
			eval := estimator.EvalSpec{Input: &toyData{}, EverySteps: c.every, AfterEval: func(_ context.Context, r estimator.EvalResult, final bool) error {
				evals = append(evals, r.GlobalStep)
				if final {
					finals++
				}
				return nil
			}}
			train := estimator.TrainSpec{Input: forever(&toyData{}), MaxSteps: 100, RestoreBest: best, Hooks: []hooks.Hook{h}}
			res, err := trainRestoringSpec(t.Context(), t, dir, train, runconfig.Strategy{Name: "default"}, eval)
			if err != nil {
				t.Fatal(err)
			}
			if res.GlobalStep != c.stop || !slices.Equal(evals, c.evals) || finals != 1 {
				t.Errorf("ended at step %d (%s) with evaluations of %v, %d of them final; expected step %d and %v", res.GlobalStep, res.StopReason, evals, finals, c.stop, c.evals)
			}
			if c.restore {
				checkRestored(t, dir, strconv.FormatInt(c.stop, 10), strconv.FormatInt(c.evals[0], 10))
			}
		})
	}
}
