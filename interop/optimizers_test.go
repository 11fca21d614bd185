package interop_test

import (
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// TestAveragesAreTensorFlows asks TensorFlow again for the averages that the tests of internal/training/update compare with.
func TestAveragesAreTensorFlows(t *testing.T) {
	data := filepath.Join(testkit.Root(), "internal", "training", "update", "testdata")
	peers(t).run(t, "averages.py", some("check", filepath.Join(data, "averages.json"), filepath.Join(data, "tensorflow.json.gz"))...)
}

// TestOptimizersAreTensorFlows asks TensorFlow again for what the tests of models/optimizers compare with.
func TestOptimizersAreTensorFlows(t *testing.T) {
	peers(t).run(t, "optimizers.py", some("check", filepath.Join(testkit.Root(), "internal", "training", "update", "testdata", "tensorflow.json.gz"))...)
}

// some asks for one of seven cases, but in the long form: the answers are recorded ones, and TensorFlow's are always the same.
func some(args ...string) []string {
	if longForm() {
		return args
	}
	return append(args, "7")
}
