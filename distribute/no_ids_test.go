package distribute

import (
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// A batch without any id has a sparse gradient without rows: nil ids would say
// that the gradient is dense.
func TestNoIDsAreNotNil(t *testing.T) {
	for _, d := range []graph.DType{graph.Int32, graph.Int64} {
		if ids := present(int64s(graph.NewTensor(d, 0))); ids == nil || len(ids) != 0 {
			t.Errorf("%v: got %v", d, ids)
		}
	}
}
