package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// selectOps choose between tensors or sum them.
var selectOps = map[*ops.Def]opDef{
	ops.SelectV2: {inplace: []int{1, 2}, compile: compileSelect},
	ops.AddN:     {inplace: []int{0}, alone: true, compile: byType(map[tensor.DType]compileFunc{tensor.Float32: addFloats[float32], tensor.Float64: addFloats[float64], tensor.Int32: addInts[int32], tensor.Int64: addInts[int64]}, out0)},
}

// compileSelect takes the condition and the values for true and false, all broadcast.
func compileSelect(c *binding) (runFunc, error) {
	if err := c.need(3, 1); err != nil {
		return nil, err
	}
	if c.in[0].typ.DType != tensor.Bool || c.in[1].typ.DType != c.out[0].typ.DType || c.in[2].typ.DType != c.out[0].typ.DType {
		return nil, fmt.Errorf("expected a bool condition and values of type %v", c.out[0].typ.DType)
	}
	switch c.out[0].typ.DType.Size() {
	case 1:
		return selectBy[uint8](c)
	case 4:
		return selectBy[uint32](c)
	case 8:
		return selectBy[uint64](c)
	}
	return nil, fmt.Errorf("element type %v is not supported", c.out[0].typ.DType)
}

func selectBy[T tensor.Element](c *binding) (runFunc, error) {
	out := c.out[0]
	var walks [3]strided
	flat := false // every operand has the result's shape or one element
	c.onBatch = func() error {
		flat = true
		for i := range walks {
			if err := walks[i].broadcast(c.in[i].dims, out.dims); err != nil {
				return err
			}
			flat = flat && (c.in[i].n == out.n || c.in[i].n == 1)
		}
		return nil
	}
	even := parallel(cheapGrain, func(lo, hi int) {
		cond, yes, no, d := view[bool](c.in[0]), view[T](c.in[1]), view[T](c.in[2]), view[T](out)
		sc, sy, sn := min(len(cond)-1, 1), min(len(yes)-1, 1), min(len(no)-1, 1)
		for i := lo; i < hi; i++ {
			if cond[i*sc] {
				d[i] = yes[i*sy]
			} else {
				d[i] = no[i*sn]
			}
		}
	})
	do := parallel(64, func(lo, hi int) {
		cond, yes, no, d := view[bool](c.in[0]), view[T](c.in[1]), view[T](c.in[2]), view[T](out)
		n, sc := walks[0].inner()
		_, sy := walks[1].inner()
		_, sn := walks[2].inner()
		for r := lo; r < hi; r++ {
			oc, oy, on := walks[0].at(r), walks[1].at(r), walks[2].at(r)
			for i := r * n; i < (r+1)*n; i++ {
				if cond[oc] {
					d[i] = yes[oy]
				} else {
					d[i] = no[on]
				}
				oc, oy, on = oc+sc, oy+sy, on+sn
			}
		}
	})
	return func() error {
		if flat {
			even(out.n)
		} else if n, _ := walks[0].inner(); out.n > 0 {
			do(out.n / n)
		}
		return nil
	}, nil
}

// broadcast makes the walk over a tensor of sizes x, broadcast to out. It merges no dimensions, so that all walks of the same
// result are in step.
func (s *strided) broadcast(x, out []int) error {
	s.reset(0)
	if len(x) > len(out) {
		return fmt.Errorf("shape %v does not broadcast to %v", x, out)
	}
	s.dims, s.steps = append(s.dims, out...), append(s.steps, out...)
	step := 1
	for i := len(out) - 1; i >= 0; i-- {
		k := i - (len(out) - len(x))
		s.steps[i] = 0
		if k < 0 {
			continue
		}
		if x[k] != out[i] && x[k] != 1 {
			return fmt.Errorf("shape %v does not broadcast to %v", x, out)
		}
		if x[k] != 1 {
			s.steps[i] = step
		}
		step *= x[k]
	}
	return nil
}

func addFloats[T kernels.Float](c *binding) (runFunc, error) {
	in, out, err := sameAs[T, T](c, len(c.in))
	if err == nil && len(in) == 0 {
		err = fmt.Errorf("expected at least one input")
	}
	return func() error {
		d := view[T](out)
		if len(in) == 1 {
			copy(d, view[T](in[0]))
			return nil
		}
		kernels.Binary(kernels.Add, d, view[T](in[0]), view[T](in[1]))
		for _, v := range in[2:] {
			kernels.Binary(kernels.Add, d, d, view[T](v))
		}
		return nil
	}, err
}

func addInts[T integer](c *binding) (runFunc, error) {
	in, out, err := sameAs[T, T](c, len(c.in))
	return func() error {
		d := view[T](out)
		for i := range d {
			var sum T
			for _, v := range in {
				sum += view[T](v)[i]
			}
			d[i] = sum
		}
		return nil
	}, err
}
