package interop_test

import (
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/internal/testkit/kinks"
)

// TestKinksAreTensorFlows asks TensorFlow again for what the packages' tests compare with at zeros, ties, infinities and NaN.
func TestKinksAreTensorFlows(t *testing.T) {
	py := peers(t)
	for _, pkg := range []string{"internal/runtime/engine", "models/ops", "models/losses"} {
		t.Run(pkg, func(t *testing.T) {
			file := filepath.Join(testkit.Root(), filepath.FromSlash(pkg), kinks.File)
			if len(kinks.Read(t, file)) == 0 {
				t.Fatalf("%s has no cases", file)
			}
			py.run(t, "kinks.py", "check", file)
		})
	}
}
