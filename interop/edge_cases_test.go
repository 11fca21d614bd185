package interop_test

import (
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/internal/testkit/edgecases"
)

// TestEdgeCasesAreTensorFlows checks against TensorFlow the recorded results for zeros, ties, infinities and NaN that tests of packages use.
func TestEdgeCasesAreTensorFlows(t *testing.T) {
	py := peers(t)
	for _, pkg := range []string{"internal/runtime/engine", "models/ops", "models/losses"} {
		t.Run(pkg, func(t *testing.T) {
			file := filepath.Join(testkit.Root(), filepath.FromSlash(pkg), edgecases.File)
			if len(edgecases.Read(t, file)) == 0 {
				t.Fatalf("%s has no cases", file)
			}
			py.run(t, "edge_cases.py", "check", file)
		})
	}
}
