package lower

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
)

// layoutOps move elements of any type.
var layoutOps = map[*ops.Def]lowering{
	ops.Transpose:        lowerTranspose,
	ops.BroadcastTo:      lowerBroadcast,
	ops.Tile:             lowerTile,
	ops.Slice:            lowerSlice,
	ops.StridedSlice:     lowerStridedSlice,
	ops.StridedSliceGrad: lowerStridedSliceGrad,
	ops.Pad:              lowerPad,
	ops.PadV2:            lowerPad,
	ops.ConcatV2:         lowerConcat,
	ops.Pack:             lowerPack,
	ops.Unpack:           lowerUnpack,
	ops.Split:            lowerSplit,
}

// maxMoved is the most dimensions of a tensor that can be moved: see kernels.Move.
const maxMoved = 6

// moving is a step that optionally fills its result, and then moves elements into it.
type moving struct {
	t     *Target
	o     *engine.Operation
	fill  func() Launch // nil for none
	moves func() ([]kernels.Move, error)
}

// newMoving checks that all operands have the same type, with elements that can be moved.
func newMoving(t *Target, o *engine.Operation, of ...*engine.Operand) (*moving, error) {
	for _, x := range of {
		switch d := x.Type.DType; {
		case d != of[0].Type.DType:
			return nil, fmt.Errorf("expected elements of type %v, got %v", of[0].Type.DType, d)
		case d.Size() != 1 && d.Size() != 2 && d.Size() != 4 && d.Size() != 8:
			return nil, fmt.Errorf("element type %v is not moved", d)
		case x.Type.Shape.Rank() > maxMoved:
			return nil, fmt.Errorf("shape %v: expected at most %d dimensions", x.Type.Shape, maxMoved)
		}
	}
	return &moving{t: t, o: o}, nil
}

// Workspace implements Step.
func (m *moving) Workspace(int) int { return 0 }

// Bind implements Step.
func (m *moving) Bind() ([]Launch, error) {
	moves, err := m.moves()
	if err != nil {
		return nil, err
	}
	var all []Launch
	if m.fill != nil && m.o.Out[0].N > 0 {
		all = append(all, m.fill())
	}
	for _, v := range moves {
		if empty(v.Sizes) {
			continue
		}
		c, err := v.Call()
		if err != nil {
			return nil, err
		}
		all = append(all, kernel{m.t.Kernels, c})
	}
	return all, nil
}

func empty(dims []int) bool {
	for _, n := range dims {
		if n == 0 {
			return true
		}
	}
	return false
}

// Clear is a Launch that sets bytes to zero.
type Clear struct {
	Dst   driver.Ptr
	Bytes int
}

// Issue implements Launch.
func (c Clear) Issue(s driver.Stream) error { return s.Fill(c.Dst, 0, c.Bytes) }

// zeroed returns the launch that clears all of an operand.
func zeroed(o *engine.Operand) Launch { return Clear{Address(o), o.N * o.Type.DType.Size()} }

// dense returns the steps of a dense tensor.
func dense(dims []int) []int {
	steps, n := make([]int, len(dims)), 1
	for k := len(dims) - 1; k >= 0; k-- {
		steps[k] = n
		n *= dims[k]
	}
	return steps
}

// gathered makes a step of a single move into the whole result. walk says where in x the result's elements are.
func gathered(t *Target, o *engine.Operation, walk func(x, out []int) (sizes, steps []int, base int, err error)) (Step, error) {
	x, out := o.In[0], o.Out[0]
	m, err := newMoving(t, o, x, out)
	if err != nil {
		return nil, err
	}
	m.moves = func() ([]kernels.Move, error) {
		sizes, steps, base, err := walk(x.Dims, out.Dims)
		if err != nil {
			return nil, err
		}
		return []kernels.Move{{Dst: Address(out), Src: Address(x), Size: x.Type.DType.Size(), Sizes: sizes, ToSteps: dense(sizes), FromSteps: steps, From: base}}, nil
	}
	return m, nil
}

func lowerTranspose(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 2, 1); err != nil {
		return nil, err
	}
	perm, err := ints(o, 1)
	if err != nil {
		return nil, err
	}
	x, out := o.In[0].Type.Shape, o.Out[0].Type.Shape
	seen := make([]bool, x.Rank())
	for i, p := range perm {
		if p < 0 || p >= len(seen) || seen[p] || len(perm) != out.Rank() || out.Dims[i] != x.Dims[p] {
			return nil, fmt.Errorf("permutation %v does not turn %v into %v", perm, x, out)
		}
		seen[p] = true
	}
	if len(perm) != len(seen) {
		return nil, fmt.Errorf("permutation %v does not fit %v", perm, x)
	}
	return gathered(t, o, func(x, out []int) ([]int, []int, int, error) {
		from, steps := dense(x), make([]int, len(out))
		for i, p := range perm {
			steps[i] = from[p]
		}
		return out, steps, 0, nil
	})
}

func lowerBroadcast(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 1, 1); err != nil {
		return nil, err
	}
	return gathered(t, o, func(x, out []int) ([]int, []int, int, error) {
		from, steps, lead := dense(x), make([]int, len(out)), len(out)-len(x)
		if lead < 0 {
			return nil, nil, 0, fmt.Errorf("shape %v does not broadcast to %v", x, out)
		}
		for i, n := range x {
			switch out[lead+i] {
			case n:
				steps[lead+i] = from[i]
			default:
				if n != 1 {
					return nil, nil, 0, fmt.Errorf("shape %v does not broadcast to %v", x, out)
				}
			}
		}
		return out, steps, 0, nil
	})
}

// lowerTile repeats whole dimensions. The multiples follow from the shapes.
func lowerTile(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 1, 1); err != nil {
		return nil, err
	}
	x, out := o.In[0].Type.Shape, o.Out[0].Type.Shape
	rank := x.Rank()
	for i, d := range x.Dims {
		if rank != out.Rank() || d != out.Dims[i] {
			rank++
		}
	}
	if x.Rank() != out.Rank() || rank > maxMoved {
		return nil, fmt.Errorf("tiles of %v for %v: expected at most %d dimensions, those that are repeated counted twice", x, out, maxMoved)
	}
	return gathered(t, o, func(x, out []int) (sizes, steps []int, base int, err error) {
		from := dense(x)
		for i, n := range x {
			switch {
			case n == out[i]:
				sizes, steps = append(sizes, n), append(steps, from[i])
			case n > 0 && out[i]%n == 0:
				sizes, steps = append(sizes, out[i]/n, n), append(steps, 0, from[i])
			default:
				return nil, nil, 0, fmt.Errorf("shape %v cannot be tiled to %v", x, out)
			}
		}
		return sizes, steps, 0, nil
	})
}

// lowerSlice takes the begin as a constant and the sizes from the result's shape.
func lowerSlice(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 2, 1); err != nil {
		return nil, err
	}
	begin, err := ints(o, 1)
	if err != nil {
		return nil, err
	}
	if x, out := o.In[0].Type.Shape, o.Out[0].Type.Shape; len(begin) != x.Rank() || out.Rank() != x.Rank() {
		return nil, fmt.Errorf("begin %v does not fit %v", begin, x)
	}
	return gathered(t, o, func(x, out []int) ([]int, []int, int, error) {
		steps, base := dense(x), 0
		for i, b := range begin {
			if b < 0 || b+out[i] > x[i] {
				return nil, nil, 0, fmt.Errorf("slice from %v of %v is outside of %v", begin, out, x)
			}
			base += b * steps[i]
		}
		return out, steps, base, nil
	})
}

func lowerStridedSlice(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 4, 1); err != nil {
		return nil, err
	}
	walk, err := strides(o)
	if err != nil {
		return nil, err
	}
	return gathered(t, o, walk)
}

// strides reads the begins and strides of a strided slice or its gradient.
func strides(o *engine.Operation) (func(x, out []int) ([]int, []int, int, error), error) {
	begin, err := ints(o, 1)
	if err != nil {
		return nil, err
	}
	by, err := ints(o, 3)
	if err != nil {
		return nil, err
	}
	return engine.StridedSlice(o.Node, begin, by)
}

// lowerStridedSliceGrad takes shape, begin, end, strides, dy.
func lowerStridedSliceGrad(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 5, 1); err != nil {
		return nil, err
	}
	dy, out := o.In[4], o.Out[0]
	m, err := newMoving(t, o, dy, out)
	if err != nil {
		return nil, err
	}
	walk, err := strides(o)
	if err != nil {
		return nil, err
	}
	m.fill = func() Launch { return zeroed(out) }
	m.moves = func() ([]kernels.Move, error) {
		sizes, steps, base, err := walk(out.Dims, dy.Dims)
		return []kernels.Move{{Dst: Address(out), Src: Address(dy), Size: dy.Type.DType.Size(), Sizes: sizes, ToSteps: steps, To: base, FromSteps: dense(sizes)}}, err
	}
	return m, nil
}

// lowerPad takes the paddings [rank, 2] as a constant; PadV2 also takes the value.
func lowerPad(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 2, 1); err != nil {
		return nil, err
	}
	x, out := o.In[0], o.Out[0]
	m, err := newMoving(t, o, x, out)
	if err != nil {
		return nil, err
	}
	pads, err := ints(o, 1)
	if err != nil {
		return nil, err
	}
	if rank := x.Type.Shape.Rank(); len(pads) != 2*rank || out.Type.Shape.Rank() != rank {
		return nil, fmt.Errorf("expected paddings [%d,2], got %d numbers", rank, len(pads))
	}
	m.fill = func() Launch { return zeroed(out) }
	if len(o.In) > 2 {
		value := o.In[2]
		if value.Type.DType != out.Type.DType || value.Type.Shape.Rank() != 0 {
			return nil, fmt.Errorf("input 2: expected a scalar of type %v, got %v", out.Type.DType, value.Type)
		}
		m.fill = func() Launch {
			return kernel{t.Kernels, kernels.Fill(Address(out), Address(value), out.Type.DType.Size(), out.N)}
		}
	}
	m.moves = func() ([]kernels.Move, error) {
		steps, base := dense(out.Dims), 0
		for i, n := range x.Dims {
			if pads[2*i] < 0 || pads[2*i+1] < 0 || n+pads[2*i]+pads[2*i+1] != out.Dims[i] {
				return nil, fmt.Errorf("paddings %v do not turn %v into %v", pads, x.Dims, out.Dims)
			}
			base += pads[2*i] * steps[i]
		}
		return []kernels.Move{{Dst: Address(out), Src: Address(x), Size: x.Type.DType.Size(), Sizes: x.Dims, ToSteps: steps, To: base, FromSteps: dense(x.Dims)}}, nil
	}
	return m, nil
}
