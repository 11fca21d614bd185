package engine

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// generateOps make tensors from shapes and scalars.
var generateOps = map[*ops.Def]opDef{
	ops.Fill:                        {compile: compileFill},
	ops.ZerosLike:                   {compile: compileZeros},
	ops.OnesLike:                    {compile: onesOf()},
	ops.Range:                       {compile: byType(map[tensor.DType]compileFunc{tensor.Float32: compileRange[float32], tensor.Float64: compileRange[float64], tensor.Int32: compileRange[int32], tensor.Int64: compileRange[int64]}, out0)},
	ops.OneHot:                      {compile: compileOneHot},
	ops.StatelessRandomUniformV2:    {compile: floats(random(kernels.Uniform[float32]), random(kernels.Uniform[float64]))},
	ops.StatelessRandomNormalV2:     {compile: floats(random(kernels.Normal[float32]), random(kernels.Normal[float64]))},
	ops.StatelessRandomUniformIntV2: {compile: byType(map[tensor.DType]compileFunc{tensor.Int32: randomInts[int32], tensor.Int64: randomInts[int64]}, out0)},
	ops.StatelessTruncatedNormalV2:  {compile: floats(random(kernels.TruncatedNormal[float32]), random(kernels.TruncatedNormal[float64]))},
}

// compileFill takes dims, which are not read, and the value.
func compileFill(c *binding) (runFunc, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	fill, err := filler(c, c.out[0], 1)
	return func() error { fill(); return nil }, err
}

func compileZeros(c *binding) (runFunc, error) {
	_, out, err := c.same(1)
	return func() error { clear(out.bytes()); return nil }, err
}

func onesOf() compileFunc {
	return byType(map[tensor.DType]compileFunc{
		tensor.Float32: ones[float32], tensor.Float64: ones[float64], tensor.Int32: ones[int32], tensor.Int64: ones[int64], tensor.Uint8: ones[uint8]}, out0)
}

func ones[T number](c *binding) (runFunc, error) {
	_, out, err := sameAs[T, T](c, 1)
	return func() error {
		d := view[T](out)
		for i := range d {
			d[i] = 1
		}
		return nil
	}, err
}

// compileRange takes start, limit and delta. The result's size already follows from the limit, which is read only to check
// it where all three are constants.
func compileRange[T number](c *binding) (runFunc, error) {
	if err := c.need(3, 1); err != nil {
		return nil, err
	}
	if err := checkRange(c); err != nil {
		return nil, err
	}
	start, delta, out := c.in[0], c.in[2], c.out[0]
	if err := errors.Join(checkTypes[T](start, delta, out), checkRank("start", start, 0), checkRank("delta", delta, 0)); err != nil {
		return nil, err
	}
	return func() error {
		from, step := view[T](start)[0], view[T](delta)[0]
		d := view[T](out)
		for i := range d {
			d[i] = from + T(i)*step
		}
		return nil
	}, checkRank("result", out, 1)
}

// checkRange fails for constants where delta leads away from the limit.
func checkRange(c *binding) error {
	var v [3]float64
	for i := range v {
		t, err := c.constant(i)
		if err != nil || t.Len() != 1 {
			return nil
		}
		v[i] = t.Float(0)
	}
	if start, limit, delta := v[0], v[1], v[2]; delta == 0 || delta > 0 && start > limit || delta < 0 && start < limit {
		return fmt.Errorf("a range from %v to %v cannot be in steps of %v", start, limit, delta)
	}
	return nil
}

// compileOneHot takes indices, depth (not read), on_value and off_value.
func compileOneHot(c *binding) (runFunc, error) {
	if err := c.need(4, 1); err != nil {
		return nil, err
	}
	x, err := c.integers(0)
	if err != nil {
		return nil, err
	}
	axis := c.node.Int("axis", -1)
	if axis == -1 {
		axis = len(x.v.dims)
	}
	on, off, out := c.in[2], c.in[3], c.out[0]
	ids := x.v.typ.Shape.Dims
	if axis < 0 || axis > len(ids) || len(out.dims) != len(ids)+1 {
		return nil, fmt.Errorf("axis %d does not fit indices of shape %v", axis, x.v.typ.Shape)
	}
	if err := checkShape("result", out, ids[:axis], out.typ.Shape.Dims[axis:axis+1], ids[axis:]); err != nil {
		return nil, err
	}
	if on.typ.DType != out.typ.DType || off.typ.DType != out.typ.DType {
		return nil, fmt.Errorf("expected values of type %v", out.typ.DType)
	}
	fill, err := filler(c, out, 3)
	if err != nil {
		return nil, err
	}
	set, err := setter(out, on)
	return func() error {
		fill()
		inner := 1
		for _, n := range x.v.dims[axis:] {
			inner *= n
		}
		depth := out.dims[axis]
		for i := range x.v.n {
			if k := x.at(i); k >= 0 && k < depth {
				set((i/inner*depth+k)*inner + i%inner)
			}
		}
		return nil
	}, err
}

// setter returns a function that sets an element of v to the scalar k.
func setter(v, k *value) (func(i int), error) {
	if len(k.typ.Shape.Dims) != 0 {
		return nil, fmt.Errorf("expected a scalar, got shape %v", k.typ.Shape)
	}
	switch v.typ.DType.Size() {
	case 1:
		return func(i int) { view[uint8](v)[i] = view[uint8](k)[0] }, nil
	case 4:
		return func(i int) { view[uint32](v)[i] = view[uint32](k)[0] }, nil
	case 8:
		return func(i int) { view[uint64](v)[i] = view[uint64](k)[0] }, nil
	}
	return nil, fmt.Errorf("element type %v is not supported", v.typ.DType)
}

// random takes shape (not read), key uint64[1], counter uint64[2], alg.
func random[T kernels.Float](f func(dst []T, r kernels.Rand)) compileFunc {
	return func(c *binding) (runFunc, error) {
		state, err := stateOf(c)
		if err != nil {
			return nil, err
		}
		out := c.out[0]
		return func() error {
			f(view[T](out), state())
			return nil
		}, nil
	}
}

// randomInts also takes the scalars minval and maxval (exclusive).
func randomInts[T int32 | int64](c *binding) (runFunc, error) {
	if err := c.need(6, 1); err != nil {
		return nil, err
	}
	state, err := stateOf(c)
	lo, hi, out := c.in[4], c.in[5], c.out[0]
	if err := errors.Join(err, checkTypes[T](lo, hi, out), checkRank("minval", lo, 0), checkRank("maxval", hi, 0)); err != nil {
		return nil, err
	}
	return func() error {
		from, to := view[T](lo)[0], view[T](hi)[0]
		if from >= to && out.n > 0 {
			return fmt.Errorf("need minval < maxval, got %d >= %d", from, to)
		}
		kernels.UniformInts(view[T](out), state(), from, to)
		return nil
	}, nil
}

// stateOf returns a function that reads the state of random numbers from operands 1 and 2.
func stateOf(c *binding) (func() kernels.Rand, error) {
	if err := c.need(4, 1); err != nil {
		return nil, err
	}
	key, counter := c.in[1], c.in[2]
	for i, v := range []*value{key, counter} {
		if v.typ.DType != tensor.Uint64 || !v.typ.Shape.Equal(graph.ShapeOf(i+1)) {
			return nil, fmt.Errorf("expected key uint64 [1] and counter uint64 [2], got %v %v", v.typ.DType, v.typ.Shape)
		}
	}
	return func() kernels.Rand {
		k := view[uint64](counter)
		return kernels.Rand{Key: view[uint64](key)[0], Counter: [2]uint64{k[0], k[1]}}
	}, nil
}
