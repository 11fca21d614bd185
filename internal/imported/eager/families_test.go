package eager

import (
	"errors"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// byFamilies are the ops that families.json.gz has cases of.
const byFamilies = "TestFamilies compares recorded cases: see interop/eager_families.py"

func init() {
	for _, family := range []map[*ops.Def]maker{sparseMathOps, setOps, matrixOps, countingOps, poolSizeOps} {
		for op := range family {
			unrecorded[op.Name] = byFamilies
		}
	}
	for _, op := range []*ops.Def{ops.SerializeTensor, ops.ParseTensor} {
		unrecorded[op.Name] = byFamilies
	}
}

// familyDifferences are the recorded cases in which we differ from TensorFlow, and why.
var familyDifferences = map[string]string{
	"Cholesky of a singular matrix": unset,
	"Cholesky of a negative matrix": unset,
}

// TestFamilies: what TensorFlow 2.15 computes and refuses with sparse tensors, sets and matrices, and of counts and texts, so do we.
func TestFamilies(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range readCases[goldenSequence](t, "testdata/families.json.gz") {
		err := c.compare(t, 1e-5)
		if why := familyDifferences[c.Name]; err != nil && why == "" {
			t.Errorf("%s: %v", c.Name, err)
		}
		for _, s := range c.Steps {
			seen[s.Op] = true
		}
	}
	for op, why := range unrecorded {
		if why == byFamilies && !seen[op] {
			t.Errorf("%s has no recorded case: add one to interop/eager_families.py", op)
		}
	}
}

// TestCollectivesRefused: ops between workers are refused by name, with what to use in their place.
func TestCollectivesRefused(t *testing.T) {
	for _, op := range []string{"CollectiveReduce", "CollectiveReduceV2", "CollectiveBcastSend", "CollectiveGather"} {
		_, err := Prepare(&graph.Node{Name: "n", Op: op})
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), op) || !strings.Contains(err.Error(), "ParameterServerStrategy") {
			t.Errorf("%s: %v", op, err)
		}
	}
}
