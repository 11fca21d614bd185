package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// isotonicOps fit nonincreasing values.
var isotonicOps = map[*ops.Def]maker{ops.IsotonicRegression: func(s *site) (kernel, error) {
	d := s.dtype("output_dtype", tensor.Float32)
	return func(c call) error { return isotonic(c, d) }, nil
}}

// pool is a run of neighbors with the same value, their mean.
type pool struct {
	sum   float64
	count int
}

func (p pool) mean() float64 { return p.sum / float64(p.count) }

// isotonic replaces each row by the closest nonincreasing values, in the least squares sense: increasing neighbors are
// pooled (the pool adjacent violators algorithm, Best and Chakravarti 1990). Its second output numbers the pools of each row.
func isotonic(c call, d tensor.DType) error {
	t := c.t(0)
	out, err := c.output(0, d, t.Shape...)
	if err != nil {
		return err
	}
	put, err := floatSetter(out)
	if err != nil {
		return err
	}
	segments, err := c.output(1, tensor.Int32, t.Shape...)
	if err != nil || t.Len() == 0 {
		return err
	}
	n := 1
	if len(t.Shape) > 0 {
		n = t.Shape[len(t.Shape)-1]
	}
	if err := c.room(n, 16); err != nil {
		return err
	}
	pools := make([]pool, 0, n)
	for row := 0; row < t.Len(); row += n {
		pools = pools[:0]
		for i := range n {
			pools = append(pools, pool{t.Float(row + i), 1})
			for last := len(pools) - 1; last > 0 && pools[last].mean() > pools[last-1].mean(); last-- {
				pools[last-1] = pool{pools[last-1].sum + pools[last].sum, pools[last-1].count + pools[last].count}
				pools = pools[:last]
			}
		}
		at := row
		for k, p := range pools {
			for range p.count {
				put(at, p.mean())
				tensor.Values[int32](segments)[at] = int32(k)
				at++
			}
		}
	}
	return nil
}

// floatSetter returns a function that sets an element of a float tensor.
func floatSetter(t *tensor.Tensor) (func(i int, v float64), error) {
	switch t.DType {
	case tensor.Float32:
		return func(i int, v float64) { tensor.Values[float32](t)[i] = float32(v) }, nil
	case tensor.Float64:
		return func(i int, v float64) { tensor.Values[float64](t)[i] = v }, nil
	}
	return nil, fmt.Errorf("type %v %w", t.DType, ErrUnsupported)
}
