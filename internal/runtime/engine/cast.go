package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/convert"
)

// castOps convert element types.
var castOps = map[*ops.Def]opDef{
	ops.Cast: {compile: compileCast},
}

func compileCast(c *binding) (runFunc, error) {
	if err := c.need(1, 1); err != nil {
		return nil, err
	}
	from, to := c.in[0].typ.DType, c.out[0].typ.DType
	if from == to {
		return copyElements(c)
	}
	f := convert.Between(from, to)
	if f == nil {
		return nil, fmt.Errorf("from %v to %v is not supported", from, to)
	}
	in, out, err := c.sameShape()
	if err != nil {
		return nil, err
	}
	do := parallel(cheapGrain, func(lo, hi int) { f(out.bytes()[lo*out.elem:hi*out.elem], in.bytes()[lo*in.elem:hi*in.elem]) })
	return func() error { do(out.n); return nil }, nil
}

// copyElements makes output 0 a copy of input 0.
func copyElements(c *binding) (runFunc, error) {
	in, out, err := c.sameShape()
	if err != nil {
		return nil, err
	}
	return func() error { copy(out.bytes(), in.bytes()); return nil }, checkSame(in, out)
}

// sameShape returns input 0 and output 0 after checking that they have one shape.
func (c *binding) sameShape() (in, out *value, err error) {
	ins, out, err := c.same(1)
	if err != nil {
		return nil, nil, err
	}
	return ins[0], out, nil
}
