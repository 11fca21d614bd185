package interop_test

import (
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// TestOptimizersAreTensorFlows asks TensorFlow again for what the tests of models/optimizers compare with.
func TestOptimizersAreTensorFlows(t *testing.T) {
	peers(t).run(t, "optimizers.py", "check", filepath.Join(testkit.Root(), "internal", "training", "update", "testdata", "tensorflow.json.gz"))
}
