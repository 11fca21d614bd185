package engine

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// castOps convert element types.
var castOps = map[*ops.Def]opDef{
	ops.Cast: {compile: compileCast},
}

func compileCast(c *binding) (runFunc, error) {
	if err := c.need(1, 1); err != nil {
		return nil, err
	}
	switch from, to := c.in[0].typ.DType, c.out[0].typ.DType; {
	case from == tensor.Float32 && to == tensor.BFloat16:
		return castElements(c, toHalf)
	case from == tensor.BFloat16 && to == tensor.Float32:
		return castElements(c, fromHalf)
	}
	switch c.in[0].typ.DType {
	case tensor.Float32:
		return castFrom[float32](c)
	case tensor.Float64:
		return castFrom[float64](c)
	case tensor.Int32:
		return castFrom[int32](c)
	case tensor.Int64:
		return castFrom[int64](c)
	case tensor.Uint8:
		return castFrom[uint8](c)
	case tensor.Int8:
		return castFrom[int8](c)
	case tensor.Int16:
		return castFrom[int16](c)
	case tensor.Uint16:
		return castFrom[uint16](c)
	case tensor.Uint32:
		return castFrom[uint32](c)
	case tensor.Uint64:
		return castFrom[uint64](c)
	case tensor.Bool:
		return castFromBool(c)
	}
	return nil, fmt.Errorf("from %v to %v is not supported", c.in[0].typ.DType, c.out[0].typ.DType)
}

// toHalf rounds to bfloat16, ties to even; a NaN stays one.
func toHalf(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

func fromHalf(x uint16) float32 { return math.Float32frombits(uint32(x) << 16) }

// castElements converts bfloat16, which is uint16 to Go, by a function.
func castElements[A, B convertible](c *binding, f func(A) B) (runFunc, error) {
	return mapSlices(c, func(d []B, s []A) {
		for i, e := range s {
			d[i] = f(e)
		}
	})
}

// mapSlices makes output 0 of input 0, range by range.
func mapSlices[A, B convertible](c *binding, f func(dst []B, src []A)) (runFunc, error) {
	in, out, err := c.sameShape()
	if err != nil {
		return nil, err
	}
	do := parallel(cheapGrain, func(lo, hi int) { f(view[B](out)[lo:hi], view[A](in)[lo:hi]) })
	return func() error { do(out.n); return nil }, nil
}

// convertible is what Go converts between.
type convertible interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func castFrom[A convertible](c *binding) (runFunc, error) {
	switch c.out[0].typ.DType {
	case tensor.Float32:
		return convert[A, float32](c)
	case tensor.Float64:
		return convert[A, float64](c)
	case tensor.Int32:
		return convert[A, int32](c)
	case tensor.Int64:
		return convert[A, int64](c)
	case tensor.Uint8:
		return convert[A, uint8](c)
	case tensor.Int8:
		return convert[A, int8](c)
	case tensor.Int16:
		return convert[A, int16](c)
	case tensor.Uint16:
		return convert[A, uint16](c)
	case tensor.Uint32:
		return convert[A, uint32](c)
	case tensor.Uint64:
		return convert[A, uint64](c)
	case tensor.Bool:
		return test(func(x A) bool { return x != 0 })(c)
	}
	return nil, fmt.Errorf("from %v to %v is not supported", c.in[0].typ.DType, c.out[0].typ.DType)
}

// convert truncates floats toward zero, as C does; what does not fit is undefined, as in TensorFlow.
func convert[A, B convertible](c *binding) (runFunc, error) {
	return mapSlices(c, func(d []B, s []A) {
		for i, e := range s {
			d[i] = B(e)
		}
	})
}

func castFromBool(c *binding) (runFunc, error) {
	switch c.out[0].typ.DType {
	case tensor.Float32:
		return fromBool[float32](c)
	case tensor.Float64:
		return fromBool[float64](c)
	case tensor.Int32:
		return fromBool[int32](c)
	case tensor.Int64:
		return fromBool[int64](c)
	case tensor.Uint8:
		return fromBool[uint8](c)
	case tensor.Uint64:
		return fromBool[uint64](c)
	case tensor.Bool:
		return copyElements(c)
	}
	return nil, fmt.Errorf("from bool to %v is not supported", c.out[0].typ.DType)
}

// fromBool reads bytes: a branch on what booleans say is mostly predicted wrong.
func fromBool[B convertible](c *binding) (runFunc, error) {
	return mapSlices(c, func(d []B, s []uint8) {
		for i, e := range s {
			d[i] = B(min(e, 1))
		}
	})
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
