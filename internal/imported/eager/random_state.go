package eager

import (
	"fmt"
	"math/rand/v2"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// ofVariable returns a stream of the state in a variable: two integers for the counter, then the key.
func (d drawing) ofVariable(c call, counters uint64) (r kernels.Rand, err error) {
	alg := d.in(c, "algorithm")
	if alg.DType != tensor.Int64 || len(alg.Shape) != 0 {
		return r, fmt.Errorf("input 1 (0-based) must have shape [], not %v", alg.Shape)
	}
	return moveState(c, tensor.Values[int64](alg)[0], counters)
}

// moveState returns the stream of the variable in input 0, and advances the state.
func moveState(c call, alg int64, counters uint64) (r kernels.Rand, err error) {
	if alg != philox && alg != automatic {
		return r, fmt.Errorf("Unsupported algorithm id: %d", alg)
	}
	return r, c.edit(c.in[:1], func(values []*tensor.Tensor) error {
		state := values[0]
		if state.DType != tensor.Int64 || len(state.Shape) != 1 {
			return fmt.Errorf("RNG state must have one and only one dimension of int64, not %v of shape %v", state.DType, state.Shape)
		}
		if state.Len() < 3 {
			return fmt.Errorf("For the Philox algorithm, the size of state must be at least 3; got %d", state.Len())
		}
		v := tensor.Values[int64](state)
		r = kernels.Rand{Key: uint64(v[2]), Counter: [2]uint64{uint64(v[0]), uint64(v[1])}}
		next := r.Skip(counters)
		v[0], v[1] = int64(next.Counter[0]), int64(next.Counter[1])
		return nil
	})
}

// skipState advances a state like an op that makes delta numbers.
func skipState(c call) error {
	alg, delta := c.t(1), c.t(2)
	if alg.DType != tensor.Int64 || delta.DType != tensor.Int64 || len(alg.Shape)+len(delta.Shape) != 0 {
		return fmt.Errorf("expected algorithm and delta as int64 scalars, got shapes %v and %v", alg.Shape, delta.Shape)
	}
	_, err := moveState(c, tensor.Values[int64](alg)[0], 256*uint64(tensor.Values[int64](delta)[0]))
	return err
}

// readAndSkipState is skipState, and returns the previous state.
func readAndSkipState(c call) error {
	alg, delta := c.t(1), c.t(2)
	if alg.DType != tensor.Int32 || delta.DType != tensor.Uint64 || len(alg.Shape)+len(delta.Shape) != 0 {
		return fmt.Errorf("expected alg as an int32 scalar and delta as a uint64 one, got shapes %v and %v", alg.Shape, delta.Shape)
	}
	r, err := moveState(c, int64(tensor.Values[int32](alg)[0]), 256*tensor.Values[uint64](delta)[0])
	if err != nil {
		return err
	}
	old, err := outputOf[int64](c, 0, 3)
	if err == nil {
		old[0], old[1], old[2] = int64(r.Counter[0]), int64(r.Counter[1]), int64(r.Key)
	}
	return err
}

// nonDeterministicInts returns integers that depend on no seed.
func nonDeterministicInts(s *site) (kernel, error) {
	d := s.dtype("dtype", tensor.Int64)
	return func(c call) error {
		shape, err := c.vector("shape", c.t(0))
		if err != nil {
			return err
		}
		r := kernels.Rand{Key: rand.Uint64(), Counter: [2]uint64{rand.Uint64(), rand.Uint64()}}
		switch d {
		case tensor.Int32:
			return intsOf[int32](c, shape, r)
		case tensor.Int64:
			return intsOf[int64](c, shape, r)
		case tensor.Uint32:
			return intsOf[uint32](c, shape, r)
		case tensor.Uint64:
			return intsOf[uint64](c, shape, r)
		}
		return fmt.Errorf("type %v %w", d, ErrUnsupported)
	}, nil
}

func intsOf[T kernels.RandomInt](c call, shape []int, r kernels.Rand) error {
	dst, err := outputOf[T](c, 0, shape...)
	if err == nil {
		kernels.Ints(dst, r)
	}
	return err
}
