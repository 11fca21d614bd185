package convert

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// Ints returns the elements of an int32 or int64 tensor.
func Ints(t *tensor.Tensor) ([]int, error) {
	out := make([]int, t.Len())
	switch t.DType {
	case tensor.Int32:
		for i, v := range tensor.Values[int32](t) {
			out[i] = int(v)
		}
	case tensor.Int64:
		for i, v := range tensor.Values[int64](t) {
			out[i] = int(v)
		}
	default:
		return nil, fmt.Errorf("expected int32 or int64, got %v", t.DType)
	}
	return out, nil
}
