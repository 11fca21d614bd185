package update

import (
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// TestSkipOfRules: for every rule, an update that is not finite changes only the counts, and other updates do not change.
func TestSkipOfRules(t *testing.T) {
	for _, ref := range references() {
		t.Run(ref.String(), func(t *testing.T) {
			plain := ref.optimizer(t)
			guarded := trainOp(plain, variable("w", 2, 1))
			guarded.SkipNonFinite = 3
			initial := map[string]*tensor.Tensor{"w": matrix([]float64{1, -2}, 2, 1)}
			one, skips := start(t, trainOp(plain, variable("w", 2, 1)), initial, nil), start(t, guarded, initial, nil)
			row, all := 0.0, 0.0
			for _, g := range []float64{0.5, math.NaN(), 0.25, math.Inf(1), math.Inf(-1), 1} {
				gradient := matrix([]float64{0.1, g}, 2, 1)
				finite := !math.IsNaN(g) && !math.IsInf(g, 0)
				before := map[string][]float64{}
				for _, name := range skips.vars.Names() {
					before[name] = skips.get(name)
				}
				if skips.run(gradient); finite {
					row = 0
				} else {
					row, all = row+1, all+1
				}
				near(t, "in a row", skips.get(SkippedInARow), []float64{row}, 0)
				near(t, "skipped", skips.get(Skipped), []float64{all}, 0)
				if finite && all == 0 {
					one.run(gradient)
				}
				for _, name := range one.vars.Names() {
					switch {
					case finite && all == 0:
						near(t, name, skips.get(name), one.get(name), 0)
					case !finite && !strings.HasSuffix(name, "/iter"): // Keras counts these updates, too
						near(t, name, skips.get(name), before[name], 0)
					}
				}
			}
		})
	}
}

// TestSkipAccumulates: the mean of a window decides, and counts once.
func TestSkipAccumulates(t *testing.T) {
	op := trainOp(mustNew(t, "adam", map[string]any{"learning_rate": 0.1, "accumulate_steps": 2, "skip_nonfinite": 1}), variable("w", 2))
	op.SkipNonFinite = 1
	tr := start(t, op, map[string]*tensor.Tensor{"w": vector(1, 2)}, nil)
	for i, g := range []float64{math.NaN(), 1, 1, 1} {
		tr.run(vector(g, 1))
		if want := []float64{0, 1, 1, 0}[i]; tr.get(SkippedInARow)[0] != want {
			t.Errorf("batch %d: %v in a row, expected %v", i, tr.get(SkippedInARow), want)
		}
		if w := tr.get("w"); (w[0] != 1) != (i == 3) {
			t.Errorf("batch %d: w is %v", i, w)
		}
	}
	if optimizers.DefaultSpec().SkipNonFinite != 0 {
		t.Error("updates are left out by default")
	}
}
