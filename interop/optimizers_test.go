package interop_test

import (
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// TestAveragesAreTensorFlows asks TensorFlow again for the averages that the tests of internal/training/update compare with.
func TestAveragesAreTensorFlows(t *testing.T) {
	data := filepath.Join(testkit.Root(), "internal", "training", "update", "testdata")
	peers(t).run(t, "averages.py", "check", filepath.Join(data, "averages.json"), filepath.Join(data, "tensorflow.json.gz"))
}

// TestOptimizersAreTensorFlows asks TensorFlow again for what the tests of models/optimizers compare with.
func TestOptimizersAreTensorFlows(t *testing.T) {
	peers(t).run(t, "optimizers.py", "check", filepath.Join(testkit.Root(), "internal", "training", "update", "testdata", "tensorflow.json.gz"))
}
