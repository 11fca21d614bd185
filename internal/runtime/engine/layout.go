package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// layoutOps move elements of any type.
var layoutOps = map[*ops.Def]opDef{
	ops.Transpose:        {compile: compileTranspose},
	ops.BroadcastTo:      {compile: compileBroadcastTo},
	ops.Tile:             {compile: compileTile},
	ops.Slice:            {compile: compileSlice},
	ops.StridedSlice:     {compile: compileStridedSlice},
	ops.StridedSliceGrad: {compile: compileStridedSliceGrad},
	ops.Pad:              {compile: compilePad},
	ops.PadV2:            {compile: compilePad},
	ops.ConcatV2:         {compile: compileConcat},
	ops.Pack:             {compile: compilePack},
	ops.Unpack:           {compile: compileUnpack},
	ops.Split:            {compile: compileSplit},
}

func compileTranspose(c *binding) (runFunc, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	x, out := c.in[0], c.out[0]
	perm, err := c.ints(1)
	if err != nil {
		return nil, err
	}
	seen := make([]bool, len(x.dims))
	for i, p := range perm {
		if p < 0 || p >= len(x.dims) || seen[p] || len(perm) != len(out.dims) || out.typ.Shape.Dims[i] != x.typ.Shape.Dims[p] {
			return nil, fmt.Errorf("permutation %v does not turn %v into %v", perm, x.typ.Shape, out.typ.Shape)
		}
		seen[p] = true
	}
	var steps []int
	m, err := newMover(out, x, false)
	if err != nil || len(perm) != len(x.dims) {
		return nil, fmt.Errorf("permutation %v does not fit %v", perm, x.typ.Shape)
	}
	c.onBatch = func() error {
		steps = denseSteps(steps, x.dims)
		m.walk.reset(0)
		for i, p := range perm {
			m.walk.add(out.dims[i], steps[p])
		}
		return nil
	}
	return func() error { m.transpose(); return nil }, checkSame(x, out)
}

// transpose uses the kernel if the permutation transposes one matrix of floats.
func (m *mover) transpose() {
	if w := &m.walk; len(w.dims) == 2 && w.steps[0] == 1 && w.steps[1] == w.dims[0] {
		rows, cols := w.dims[1], w.dims[0]
		switch m.dense.typ.DType {
		case tensor.Float32:
			kernels.Transpose(view[float32](m.dense), view[float32](m.far), rows, cols)
			return
		case tensor.Float64:
			kernels.Transpose(view[float64](m.dense), view[float64](m.far), rows, cols)
			return
		}
	}
	m.run()
}

func compileBroadcastTo(c *binding) (runFunc, error) {
	if err := c.need(1, 1); err != nil {
		return nil, err
	}
	x, out := c.in[0], c.out[0]
	var steps []int
	return moving(c, out, x, false, func(s *strided) error {
		steps = denseSteps(steps, x.dims)
		s.reset(0)
		lead := len(out.dims) - len(x.dims)
		for i, n := range out.dims {
			switch {
			case i < lead || lead >= 0 && x.dims[i-lead] == 1:
				s.add(n, 0)
			case lead >= 0 && x.dims[i-lead] == n:
				s.add(n, steps[i-lead])
			default:
				return fmt.Errorf("shape %v does not broadcast to %v", x.dims, out.dims)
			}
		}
		return nil
	})
}

// compileTile repeats whole dimensions. The multiples follow from the shapes.
func compileTile(c *binding) (runFunc, error) {
	if err := c.need(1, 1); err != nil {
		return nil, err
	}
	x, out := c.in[0], c.out[0]
	var steps []int
	return moving(c, out, x, false, func(s *strided) error {
		if len(x.dims) != len(out.dims) {
			return fmt.Errorf("shape %v cannot be tiled to %v", x.dims, out.dims)
		}
		steps = denseSteps(steps, x.dims)
		s.reset(0)
		for i, n := range x.dims {
			if n == 0 && out.dims[i] == 0 {
				s.add(0, 0)
				continue
			}
			if n == 0 || out.dims[i]%n != 0 {
				return fmt.Errorf("shape %v cannot be tiled to %v", x.dims, out.dims)
			}
			s.add(out.dims[i]/n, 0)
			s.add(n, steps[i])
		}
		return nil
	})
}

// compilePad takes the paddings [rank, 2] as a constant; PadV2 also takes the value.
func compilePad(c *binding) (runFunc, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	x, out := c.in[0], c.out[0]
	pads, err := c.ints(1)
	if err != nil {
		return nil, err
	}
	if len(pads) != 2*len(x.dims) || len(out.dims) != len(x.dims) {
		return nil, fmt.Errorf("expected paddings [%d,2], got %d numbers", len(x.dims), len(pads))
	}
	fill, err := filler(c, out, 2)
	if err != nil {
		return nil, err
	}
	var steps []int
	move, err := moving(c, x, out, true, func(s *strided) error {
		steps = denseSteps(steps, out.dims)
		base := 0
		for i, n := range x.dims {
			base += pads[2*i] * steps[i]
			if pads[2*i] < 0 || pads[2*i+1] < 0 || n+pads[2*i]+pads[2*i+1] != out.dims[i] {
				return fmt.Errorf("paddings %v do not turn %v into %v", pads, x.dims, out.dims)
			}
		}
		s.reset(base)
		for i, n := range x.dims {
			s.add(n, steps[i])
		}
		return nil
	})
	return func() error { fill(); return move() }, err
}

// filler returns a function that sets all of v to the scalar input i, or to zero if there is none.
func filler(c *binding, v *value, i int) (func(), error) {
	if i >= len(c.in) {
		return func() { clear(v.bytes()) }, nil
	}
	k := c.in[i]
	if k.typ.DType != v.typ.DType || len(k.typ.Shape.Dims) != 0 {
		return nil, fmt.Errorf("input %d: expected a scalar of type %v, got %v %v", i, v.typ.DType, k.typ.DType, k.typ.Shape)
	}
	switch v.typ.DType.Size() {
	case 1:
		return fillBy[uint8](v, k), nil
	case 2:
		return fillBy[uint16](v, k), nil
	case 4:
		return fillBy[uint32](v, k), nil
	}
	return fillBy[uint64](v, k), nil
}

func fillBy[T tensor.Element](v, k *value) func() {
	do := parallel(cheapGrain, func(lo, hi int) {
		e := view[T](k)[0]
		d := view[T](v)[lo:hi]
		for i := range d {
			d[i] = e
		}
	})
	return func() { do(v.n) }
}
