package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// diag makes a tensor of twice the rank, with the input on its diagonal.
func diag(c call) error {
	t := c.t(0)
	if len(t.Shape) == 0 {
		return fmt.Errorf("Input must be at least rank 1, got 0")
	}
	out, err := c.output(0, t.DType, slices.Concat(t.Shape, t.Shape)...)
	if err != nil {
		return err
	}
	for i := range t.Len() {
		copyCells(out, i*t.Len()+i, t, i, 1)
	}
	return nil
}

// diagPart returns the diagonal of a tensor [a,b,...,a,b,...].
func diagPart(c call) error {
	t := c.t(0)
	k := len(t.Shape) / 2
	if k == 0 || len(t.Shape)%2 != 0 || !slices.Equal(t.Shape[:k], t.Shape[k:]) {
		return fmt.Errorf("The rank of the tensor should be even and positive, and its halves equal, got shape %v", t.Shape)
	}
	out, err := c.output(0, t.DType, t.Shape[:k]...)
	if err != nil {
		return err
	}
	for i := range out.Len() {
		copyCells(out, i, t, i*out.Len()+i, 1)
	}
	return nil
}

// inTopKOf is inTopK with k as an attribute.
func inTopKOf(s *site) (kernel, error) {
	k := Value{T: tensor.Scalar(int64(s.node.Int("k", 0)))}
	return func(c call) error {
		c.in = []Value{c.in[0], c.in[1], k}
		return inTopK(c)
	}, nil
}
