package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/tensor"
)

// castOps change element types.
var castOps = map[*ops.Def]maker{
	ops.Cast: cast,
}

func cast(s *site) (kernel, error) {
	to := s.dtype("DstT", tensor.Invalid)
	return func(c call) error {
		if c.t(0).DType == to {
			return pass(c)
		}
		out := c.t(0)
		via := []tensor.DType{to}
		if (out.DType.Half() || to.Half()) && out.DType != tensor.Float32 && to != tensor.Float32 {
			via = []tensor.DType{tensor.Float32, to}
		}
		for _, d := range via {
			var err error
			if out, err = recastTo(c, out, d); err != nil {
				return err
			}
		}
		c.set(0, out)
		return nil
	}, nil
}

// recast fills dst with src's elements converted to dst's type, as in C++.
func recast(dst, src *tensor.Tensor) error {
	f := convert.Between(src.DType, dst.DType)
	if f == nil {
		return fmt.Errorf("cast of %v to %v %w", src.DType, dst.DType, ErrUnsupported)
	}
	f(dst.Bytes, src.Bytes)
	return nil
}

// recastTo returns a tensor with t's elements converted to another type.
func recastTo(c call, t *tensor.Tensor, d tensor.DType) (*tensor.Tensor, error) {
	out, err := c.alloc(d, t.Shape...)
	if err != nil {
		return nil, err
	}
	return out, recast(out, t)
}
