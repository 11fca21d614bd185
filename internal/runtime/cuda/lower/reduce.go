package lower

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// reduceOps fold dimensions away.
var reduceOps = map[*ops.Def]lowering{
	ops.Sum: reduction(host.ReduceSum), ops.Mean: reduction(host.ReduceMean), ops.Prod: reduction(host.ReduceProd),
	ops.Max: reduction(host.ReduceMax), ops.Min: reduction(host.ReduceMin), ops.All: reduction(host.ReduceMin), ops.Any: reduction(host.ReduceMax),
	ops.L2Loss: lowerL2Loss, ops.BiasAddGrad: lowerBiasAddGrad, ops.ArgMax: argBest(false), ops.ArgMin: argBest(true),
}

// reduce is a reduction over some dimensions of input 0.
type reduce struct {
	step
	op   host.ReduceOp
	axes []bool
	half bool // halve the result (L2Loss)
}

// reduction takes the axes as a constant second input.
func reduction(op host.ReduceOp) lowering {
	return func(t *Target, o *engine.Operation) (Step, error) {
		if err := need(o, 2, 1); err != nil {
			return nil, err
		}
		list, err := ints(o, 1)
		if err != nil {
			return nil, err
		}
		d := o.In[0].Type.DType
		if logical := o.Node.Op == "All" || o.Node.Op == "Any"; logical != (d == tensor.Bool) {
			return nil, fmt.Errorf("element type %v is not supported", d)
		}
		if op == host.ReduceMean && !d.Float() {
			return nil, fmt.Errorf("element type %v is not supported", d)
		}
		axes := make([]bool, o.In[0].Type.Shape.Rank())
		for _, a := range list {
			if a, err = normalAxis(a, len(axes)); err != nil {
				return nil, err
			}
			axes[a] = true
		}
		return newReduce(t, o, op, axes)
	}
}

// lowerL2Loss is half the sum of squares.
func lowerL2Loss(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 1, 1); err != nil {
		return nil, err
	}
	s, err := newReduce(t, o, host.ReduceSumSquares, slices.Repeat([]bool{true}, max(o.In[0].Type.Shape.Rank(), 0)))
	if err != nil {
		return nil, err
	}
	if !o.In[0].Type.DType.Float() {
		return nil, fmt.Errorf("element type %v is not supported", o.In[0].Type.DType)
	}
	s.half = true
	return s, nil
}

// lowerBiasAddGrad keeps the last dimension.
func lowerBiasAddGrad(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 1, 1); err != nil {
		return nil, err
	}
	rank := o.In[0].Type.Shape.Rank()
	if o.Node.Str("data_format") == "NCHW" || rank < 2 {
		return nil, fmt.Errorf("expected channels in the last of at least two dimensions, got %v of rank %d", o.Node.Str("data_format"), rank)
	}
	axes := slices.Repeat([]bool{true}, rank)
	axes[rank-1] = false
	return newReduce(t, o, host.ReduceSum, axes)
}

func newReduce(t *Target, o *engine.Operation, op host.ReduceOp, axes []bool) (*reduce, error) {
	s := &reduce{step: step{t: t, o: o}, op: op, axes: axes}
	d, to := o.In[0].Type.DType, o.Out[0].Type.DType
	_, simple := s.simple(o.In[0].Type.Shape.At(7))
	if !kernels.CanFold(d) || to != d && !(simple && d == tensor.BFloat16 && to == tensor.Float32) {
		return nil, fmt.Errorf("from element type %v to %v is not supported", d, to)
	}
	s.step.calls, s.step.workspace = s.launches, s.scratch
	if _, err := s.fold(o.In[0].Type.Shape.At(7)).Call(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *reduce) fold(sizes []int) kernels.Fold {
	f := kernels.Fold{Op: s.op, Type: s.o.In[0].Type.DType, Sizes: sizes, Reduced: s.axes, Scale: 1}
	if s.half {
		f.Scale = 0.5
	}
	return f
}

// simple returns the reduction if it is over one run of dimensions of float32 or bfloat16, else false.
func (s *reduce) simple(sizes []int) (r kernels.Reduction, ok bool) {
	d := s.o.In[0].Type.DType
	if d != tensor.Float32 && d != tensor.BFloat16 {
		return r, false
	}
	r = kernels.Reduction{Op: s.op, Outer: 1, N: 1, Inner: 1, Half: s.half, XHalf: d == tensor.BFloat16, DstHalf: s.o.Out[0].Type.DType == tensor.BFloat16}
	const before, within, behind = 0, 1, 2
	at := before
	for i, n := range sizes {
		switch {
		case n == 1:
		case s.axes[i] && at == behind:
			return r, false
		case s.axes[i]:
			at = within
			r.N *= n
		case at == before:
			r.Outer *= n
		default:
			at = behind
			r.Inner *= n
		}
	}
	return r, true
}

func (s *reduce) scratch(batch int) int {
	r, ok := s.simple(s.o.In[0].Type.Shape.At(batch))
	if !ok {
		return 0
	}
	return r.ScratchBytes()
}

func (s *reduce) launches() ([]kernels.Call, error) {
	if s.o.Out[0].N == 0 {
		return nil, nil
	}
	if r, ok := s.simple(s.o.In[0].Dims); ok {
		r.Dst, r.X, r.Scratch = s.out(0), s.in(0), Address(&s.o.Workspace)
		return r.Calls(), nil
	}
	f := s.fold(s.o.In[0].Dims)
	f.Dst, f.X = s.out(0), s.in(0)
	c, err := f.Call()
	return []kernels.Call{c}, err
}

// argBest takes the axis as a constant second input.
func argBest(smallest bool) lowering {
	return func(t *Target, o *engine.Operation) (Step, error) {
		if err := need(o, 2, 1); err != nil {
			return nil, err
		}
		list, err := ints(o, 1)
		if err == nil && len(list) != 1 {
			err = fmt.Errorf("input 1: expected one axis, got %v", list)
		}
		if err != nil {
			return nil, err
		}
		axis, err := normalAxis(list[0], o.In[0].Type.Shape.Rank())
		if err != nil {
			return nil, err
		}
		d, to := o.In[0].Type.DType, o.Out[0].Type.DType
		if !kernels.CanArg(d) || to != tensor.Int32 && to != tensor.Int64 {
			return nil, fmt.Errorf("from element type %v to %v is not supported", d, to)
		}
		s := &step{t: t, o: o}
		s.calls = func() ([]kernels.Call, error) {
			if o.Out[0].N == 0 {
				return nil, nil
			}
			a := kernels.ArgBest{Type: d, Dst: s.out(0), X: s.in(0), Outer: 1, N: o.In[0].Dims[axis], Inner: 1, Int64: to == tensor.Int64, Smallest: smallest}
			for i, n := range o.In[0].Dims {
				if i < axis {
					a.Outer *= n
				} else if i > axis {
					a.Inner *= n
				}
			}
			if a.N == 0 {
				return nil, fmt.Errorf("axis %d of %v: expected elements", axis, o.In[0].Dims)
			}
			return []kernels.Call{a.Call()}, nil
		}
		return s, nil
	}
}
