package eager

import (
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// byWindows marks the ops with cases in windows.json.gz.
const byWindows = "TestWindows compares recorded cases: see interop/eager_windows.py"

func init() {
	for _, family := range []map[*ops.Def]maker{convolutionOps, poolOps, patchOps} {
		for op := range family {
			unrecorded[op.Name] = byWindows
		}
	}
	for _, op := range []*ops.Def{ops.Conv2D, ops.Conv2DBackpropInput, ops.DepthwiseConv2dNative, ops.MaxPool, ops.AvgPool} { // golden.json.gz has them
		delete(unrecorded, op.Name)
	}
	for _, op := range []*ops.Def{ops.MaxPoolGrad, ops.AvgPoolGrad} {
		unrecorded[op.Name] = byUpdates
	}
}

// TestWindows: ops on windows of images and volumes have TensorFlow 2.15's results and refusals.
func TestWindows(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range readCases[goldenSequence](t, "testdata/windows.json.gz") {
		if c.Name == "Conv3D groups" { // TensorFlow's own kernel refuses groups, XLA computes them
			continue
		}
		if err := c.compare(t, 1e-4); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		for _, s := range c.Steps {
			seen[s.Op] = true
		}
	}
	for op, why := range unrecorded {
		if why == byWindows && !seen[op] {
			t.Errorf("%s has no recorded case: add one to interop/eager_windows.py", op)
		}
	}
}
