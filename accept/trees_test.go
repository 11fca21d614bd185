package accept

import (
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// TestTitanicFolds trains boosted trees five times, each time without one fifth of the passengers, and compares the mean
// accuracy over the fifths with the one that the preset promises.
func TestTitanicFolds(t *testing.T) {
	if !long(t) {
		t.Skip("skipped: trains five models; set GOESTIMATOR_ACCEPT=1")
	}
	data, sum := testkit.Shared(t, "data/titanic"), 0.0
	const folds = 5
	for fold := range folds {
		held := fmt.Sprintf("split.held_out=%d", fold)
		o := train(t, "--config", "configs/titanic_boosted_trees.yaml", "--set", "model_dir="+t.TempDir(), "--set", "data_dir="+data,
			"--set", "train.input."+held, "--set", "eval.input."+held)
		t.Logf("fold %d: step %d, accuracy %.4f, loss %.4f", fold, o.GlobalStep, o.Metrics["accuracy"], o.Metrics["average_loss"])
		sum += o.Metrics["accuracy"]
	}
	t.Logf("mean accuracy %.4f", sum/folds)
	if sum/folds < 0.80 {
		t.Errorf("mean accuracy %.4f, expected >= 0.80", sum/folds)
	}
}
