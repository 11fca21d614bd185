package interop_test

import (
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// TestAveragesAreTensorFlows checks against TensorFlow the recorded averages that the tests of internal/training/update use.
func TestAveragesAreTensorFlows(t *testing.T) {
	data := filepath.Join(testkit.Root(), "internal", "training", "update", "testdata")
	peers(t).run(t, "averages.py", some("check", filepath.Join(data, "averages.json"), filepath.Join(data, "tensorflow.json.gz"))...)
}

// TestOptimizersAreTensorFlows checks against TensorFlow the recorded results that the tests of models/optimizers use.
func TestOptimizersAreTensorFlows(t *testing.T) {
	peers(t).run(t, "optimizers.py", some("check", filepath.Join(testkit.Root(), "internal", "training", "update", "testdata", "tensorflow.json.gz"))...)
}

// some selects one case in seven, except in the long form: the results are recorded, and TensorFlow's do not change.
func some(args ...string) []string {
	if longForm() {
		return args
	}
	return append(args, "7")
}
