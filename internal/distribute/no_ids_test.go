package distribute

import (
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// A batch without ids has a sparse gradient without rows: nil ids would mean that the
// gradient is dense.
func TestNoIDsAreNotNil(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Int32, tensor.Int64} {
		if ids := present(int64s(tensor.New(d, 0))); ids == nil || len(ids) != 0 {
			t.Errorf("%v: got %v", d, ids)
		}
	}
}
