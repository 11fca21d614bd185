package lower

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
)

// slotted makes a step that copies between parts of a large tensor along an axis and small tensors, which may not have the axis.
func slotted(t *Target, o *engine.Operation, large *engine.Operand, small []*engine.Operand, axis int) (Step, error) {
	m, err := newMoving(t, o, append([]*engine.Operand{large}, small...)...)
	if err != nil {
		return nil, err
	}
	whole := large.Type.Shape.Dims
	for i, p := range small {
		dims := p.Type.Shape.Dims
		if len(dims) == len(whole)-1 {
			dims = append(append(append([]graph.Dim{}, dims[:axis]...), graph.Fixed(1)), dims[axis:]...)
		}
		for k := range whole {
			if len(dims) != len(whole) || k != axis && dims[k] != whole[k] {
				return nil, fmt.Errorf("part %d of shape %v does not fit %v along axis %d", i, p.Type.Shape, large.Type.Shape, axis)
			}
		}
	}
	into := large == o.Out[0]
	m.moves = func() ([]kernels.Move, error) {
		outer, inner := product(large.Dims[:axis]), product(large.Dims[axis+1:])
		var all []kernels.Move
		at := 0
		for _, p := range small {
			n := 1
			if len(p.Dims) == len(large.Dims) {
				n = p.Dims[axis]
			}
			v := kernels.Move{Size: large.Type.DType.Size(), Sizes: []int{outer, n * inner}}
			far, near := []int{large.Dims[axis] * inner, 1}, []int{n * inner, 1}
			if into {
				v.Dst, v.Src, v.ToSteps, v.FromSteps, v.To = Address(large), Address(p), far, near, at*inner
			} else {
				v.Dst, v.Src, v.ToSteps, v.FromSteps, v.From = Address(p), Address(large), near, far, at*inner
			}
			all = append(all, v)
			at += n
		}
		if at != large.Dims[axis] {
			return nil, fmt.Errorf("the parts take %d of the %d rows of axis %d", at, large.Dims[axis], axis)
		}
		return all, nil
	}
	return m, nil
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// constantAxis reads a constant scalar input as an axis.
func constantAxis(o *engine.Operation, i, rank int) (int, error) {
	v, err := ints(o, i)
	if err != nil {
		return 0, err
	}
	if len(v) != 1 {
		return 0, fmt.Errorf("input %d: expected one axis, got %v", i, v)
	}
	return normalAxis(v[0], rank)
}

func lowerConcat(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 2, 1); err != nil {
		return nil, err
	}
	last := len(o.In) - 1
	axis, err := constantAxis(o, last, o.Out[0].Type.Shape.Rank())
	if err != nil {
		return nil, err
	}
	return slotted(t, o, o.Out[0], o.In[:last], axis)
}

func lowerPack(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 1, 1); err != nil {
		return nil, err
	}
	axis, err := normalAxis(o.Node.Int("axis", 0), o.Out[0].Type.Shape.Rank())
	if err != nil {
		return nil, err
	}
	return slotted(t, o, o.Out[0], o.In, axis)
}

func lowerUnpack(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 1, 1); err != nil {
		return nil, err
	}
	axis, err := normalAxis(o.Node.Int("axis", 0), o.In[0].Type.Shape.Rank())
	if err != nil {
		return nil, err
	}
	return slotted(t, o, o.In[0], o.Out, axis)
}

func lowerSplit(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 2, 1); err != nil {
		return nil, err
	}
	axis, err := constantAxis(o, 0, o.In[1].Type.Shape.Rank())
	if err != nil {
		return nil, err
	}
	return slotted(t, o, o.In[1], o.Out, axis)
}
