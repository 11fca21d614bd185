package eager

import (
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// byImages are the ops with cases in images.json.gz.
const byImages = "TestImages compares recorded cases: see interop/eager_images.py"

func init() {
	for _, family := range []map[*ops.Def]maker{codecOps, resizeOps, boxOps, colourOps} {
		for op := range family {
			unrecorded[op.Name] = byImages
		}
	}
}

// imageDifferences has the recorded cases in which we differ from TensorFlow, and why.
var imageDifferences = map[string]string{}

// TestImages: we compute and refuse what TensorFlow 2.15 does with images, with the same bits for pixels.
func TestImages(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range readCases[goldenSequence](t, "testdata/images.json.gz") {
		err := c.compare(t, 3e-5)
		if why := imageDifferences[c.Name]; err != nil && why == "" {
			t.Errorf("%s: %v", c.Name, err)
		}
		for _, s := range c.Steps {
			seen[s.Op] = true
		}
	}
	for op, why := range unrecorded {
		if why == byImages && !seen[op] {
			t.Errorf("%s has no recorded case: add one to interop/eager_images.py", op)
		}
	}
}
