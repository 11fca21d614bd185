package lower

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// indexOps select by index.
var indexOps = map[*ops.Def]lowering{
	ops.GatherV2: lowerGather,
	ops.OneHot:   lowerOneHot,
	ops.TopKV2:   lowerTopK,
	ops.InTopKV2: lowerInTopK,
}

// integers fails unless input i is int32 or int64; wide reports int64.
func integers(o *engine.Operation, i int) (wide bool, err error) {
	d := o.In[i].Type.DType
	if d != tensor.Int32 && d != tensor.Int64 {
		return false, fmt.Errorf("input %d: expected int32 or int64, got %v", i, d)
	}
	return d == tensor.Int64, nil
}

// shaped fails unless an operand's dimensions are the concatenation of parts.
func shaped(what string, x *engine.Operand, parts ...[]graph.Dim) error {
	var want graph.Shape
	for _, p := range parts {
		want.Dims = append(want.Dims, p...)
	}
	if !want.Equal(x.Type.Shape) {
		return fmt.Errorf("%s: expected shape %v, got %v", what, want, x.Type.Shape)
	}
	return nil
}

// note returns where the kernels of a step record faults.
func (s *step) note() kernels.Fault { return kernels.Fault{Record: s.t.Fault, Operation: s.o.Index} }

// lowerGather takes params, indices and a constant axis.
func lowerGather(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 3, 1); err != nil {
		return nil, err
	}
	x, ids, out := o.In[0], o.In[1], o.Out[0]
	wide, err := integers(o, 1)
	if err != nil {
		return nil, err
	}
	if _, err := newMoving(t, o, x, out); err != nil {
		return nil, err
	}
	dims, at := x.Type.Shape.Dims, ids.Type.Shape.Dims
	axis, err := constantAxis(o, 2, len(dims))
	if err != nil {
		return nil, err
	}
	g := kernels.Gather{Size: x.Type.DType.Size(), Int64: wide, Padding: o.Node.Bool(graph.NegativeGivesZeros)}
	switch n := o.Node.Int("batch_dims", 0); {
	case n == 0 && g.Padding && axis != 0:
		return nil, fmt.Errorf("%s: expected axis 0, got %d", graph.NegativeGivesZeros, axis)
	case n == 0:
		err = shaped("result", out, dims[:axis], at, dims[axis+1:])
	case n == 1 && len(dims) == 2 && len(at) == 2 && axis == 1 && at[0] == dims[0]:
		g.Each = true
		err = shaped("result", out, dims[:1], at[1:])
	default:
		err = fmt.Errorf("batch_dims %d: expected 0, or 1 with [batch, n], indices [batch, k] and axis 1, got %v, %v and %d", n, x.Type, ids.Type, axis)
	}
	s := &step{t: t, o: o}
	s.calls = func() ([]kernels.Call, error) {
		g := g
		g.Out, g.X, g.IDs, g.Fault = s.out(0), s.in(0), s.in(1), s.note()
		g.Outer, g.Count, g.N, g.Inner = product(x.Dims[:axis]), ids.N, x.Dims[axis], product(x.Dims[axis+1:])
		if g.Each {
			g.Count = ids.Dims[1]
		}
		if out.N == 0 {
			return nil, nil
		}
		return []kernels.Call{g.Call()}, nil
	}
	return s, err
}

func lowerOneHot(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 4, 1); err != nil {
		return nil, err
	}
	ids, on, off, out := o.In[0], o.In[2], o.In[3], o.Out[0]
	wide, err := integers(o, 0)
	if err != nil {
		return nil, err
	}
	at, axis := ids.Type.Shape.Dims, o.Node.Int("axis", -1)
	if axis == -1 {
		axis = len(at)
	}
	size := out.Type.DType.Size()
	switch {
	case axis < 0 || axis > len(at) || out.Type.Shape.Rank() != len(at)+1:
		return nil, fmt.Errorf("axis %d does not fit indices of shape %v", axis, ids.Type.Shape)
	case size != 1 && size != 4 && size != 8:
		return nil, fmt.Errorf("element type %v is not supported", out.Type.DType)
	case on.Type.DType != out.Type.DType || off.Type.DType != out.Type.DType || on.Type.Shape.Rank() != 0 || off.Type.Shape.Rank() != 0:
		return nil, fmt.Errorf("expected scalars of type %v, got %v and %v", out.Type.DType, on.Type, off.Type)
	}
	s := &step{t: t, o: o}
	s.calls = func() ([]kernels.Call, error) {
		if out.N == 0 {
			return nil, nil
		}
		h := kernels.OneHot{Out: s.out(0), IDs: s.in(0), On: s.in(2), Off: s.in(3), Size: size, Int64: wide,
			Outer: product(ids.Dims[:axis]), Depth: out.Dims[axis], Inner: product(ids.Dims[axis:])}
		return []kernels.Call{h.Call()}, nil
	}
	return s, shaped("result", out, at[:axis], out.Type.Shape.Dims[axis:axis+1], at[axis:])
}

// lowerTopK takes a tensor and k, which is not read.
func lowerTopK(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 1, 2); err != nil {
		return nil, err
	}
	x, values, columns := o.In[0], o.Out[0], o.Out[1]
	if err := typed(tensor.Float32, x, values); err != nil {
		return nil, err
	}
	last := x.Type.Shape.Rank() - 1
	if last < 0 || values.Type.Shape.Rank() != last+1 || columns.Type.DType != tensor.Int32 || !columns.Type.Shape.Equal(values.Type.Shape) {
		return nil, fmt.Errorf("input %v does not give values %v and indices %v", x.Type, values.Type, columns.Type)
	}
	s := &step{t: t, o: o}
	s.calls = func() ([]kernels.Call, error) {
		rows, n, k := product(x.Dims[:last]), x.Dims[last], values.Dims[last]
		if k > n {
			return nil, fmt.Errorf("the %d largest of rows of %d elements", k, n)
		}
		if values.N == 0 {
			return nil, nil
		}
		return []kernels.Call{kernels.TopK(s.out(0), s.out(1), s.in(0), rows, n, k)}, nil
	}
	return s, shaped("values", values, x.Type.Shape.Dims[:last], values.Type.Shape.Dims[last:])
}

// lowerInTopK takes predictions [n,classes], targets [n] and the scalar k.
func lowerInTopK(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 3, 1); err != nil {
		return nil, err
	}
	x, targets, k, out := o.In[0], o.In[1], o.In[2], o.Out[0]
	wide, err := integers(o, 1)
	if err != nil {
		return nil, err
	}
	if err := typed(tensor.Float32, x); err != nil {
		return nil, err
	}
	if x.Type.Shape.Rank() != 2 || k.Type.DType != targets.Type.DType || k.Type.Shape.Rank() != 0 || out.Type.DType != tensor.Bool {
		return nil, fmt.Errorf("expected predictions [n,classes], targets and k of one type and a bool result, got %v, %v, %v and %v", x.Type, targets.Type, k.Type, out.Type)
	}
	rows := x.Type.Shape.Dims[:1]
	if err := shaped("targets", targets, rows); err != nil {
		return nil, err
	}
	s := &step{t: t, o: o}
	s.calls = func() ([]kernels.Call, error) {
		if out.N == 0 {
			return nil, nil
		}
		return []kernels.Call{kernels.InTopK(s.out(0), s.in(0), s.in(1), s.in(2), wide, x.Dims[0], x.Dims[1])}, nil
	}
	return s, shaped("result", out, rows)
}
