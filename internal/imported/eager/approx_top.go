package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// approxOps find the largest elements of rows. TensorFlow's CPU kernel finds them exactly, and does not support other axes or the
// smallest elements.
var approxOps = map[*ops.Def]maker{ops.ApproxTopK: approxTopK}

func approxTopK(s *site) (kernel, error) {
	switch {
	case s.node.Int("reduction_dimension", -1) != -1:
		return nil, fmt.Errorf("reduction_dimension: other than -1 %w", ErrUnsupported)
	case !s.boolean("is_max_k", true), !s.boolean("aggregate_to_topk", true):
		return nil, fmt.Errorf("is_max_k or aggregate_to_topk: false %w", ErrUnsupported)
	}
	return floats(topOf[float32](tensor.Int32, s.node.Int("k", 0)), nil).on(0), nil
}
