package engine

import (
	"errors"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// scanOps go along one dimension.
var scanOps = map[*ops.Def]opDef{
	ops.Cumsum:  {inplace: []int{0}, compile: scans(false)},
	ops.Cumprod: {inplace: []int{0}, compile: scans(true)},
}

func scans(times bool) compileFunc {
	return byType(map[tensor.DType]compileFunc{tensor.Float32: scan[float32](times), tensor.Float64: scan[float64](times),
		tensor.Int32: scan[int32](times), tensor.Int64: scan[int64](times)}, out0)
}

// scan takes a tensor and a constant axis; it sums or, if times is set, multiplies.
func scan[T number](times bool) compileFunc {
	return func(c *binding) (runFunc, error) {
		if err := c.need(2, 1); err != nil {
			return nil, err
		}
		x, out := c.in[0], c.out[0]
		axis, err := c.axis(1, len(x.dims))
		if err := errors.Join(err, checkTypes[T](x, out), checkShape("result", out, x.typ.Shape.Dims)); err != nil {
			return nil, err
		}
		l := &scanLine[T]{times: times, exclusive: c.node.Bool("exclusive"), backwards: c.node.Bool("reverse")}
		do := parallel(16, func(lo, hi int) {
			dst, src := view[T](out), view[T](x)
			for i := lo; i < hi; i++ {
				at := i/l.inner*l.n*l.inner + i%l.inner
				l.run(dst[at:], src[at:])
			}
		})
		return func() error {
			l.n, l.inner = x.dims[axis], elementsAfter(x, axis)
			if out.n > 0 {
				do(out.n / l.n)
			}
			return nil
		}, nil
	}
}

// scanLine is a scan of n elements, inner elements apart.
type scanLine[T number] struct {
	times, exclusive, backwards bool
	n, inner                    int
}

// run sums or multiplies one line. dst may be src.
func (l *scanLine[T]) run(dst, src []T) {
	at, step := 0, l.inner
	if l.backwards {
		at, step = (l.n-1)*l.inner, -l.inner
	}
	var acc T
	if l.times {
		acc = 1
	}
	for range l.n {
		before := acc
		if l.times {
			acc *= src[at]
		} else {
			acc += src[at]
		}
		if dst[at] = acc; l.exclusive {
			dst[at] = before
		}
		at += step
	}
}
