package lower

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// generateOps make tensors from scalars, or copy.
var generateOps = map[*ops.Def]lowering{
	ops.Fill: lowerFill, ops.Range: lowerRange, ops.DeepCopy: lowerCopy, ops.ReadVariableOp: lowerCopy,
	ops.StatelessRandomUniformV2: random(kernels.Uniform), ops.StatelessRandomNormalV2: random(kernels.Normal), ops.StatelessTruncatedNormalV2: random(kernels.TruncatedNormal),
}

// lowerCopy copies input 0, a value or a variable.
func lowerCopy(_ *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 1, 1); err != nil {
		return nil, err
	}
	if d := o.In[0].Type.DType; d.Size() == 0 || o.Out[0].Type.DType != d {
		return nil, fmt.Errorf("from element type %v to %v is not supported", d, o.Out[0].Type.DType)
	}
	return fixed(func() []Launch {
		return []Launch{Copy{Address(o.Out[0]), Address(o.In[0]), o.Out[0].N * o.Out[0].Type.DType.Size()}}
	}), nil
}

// lowerFill takes dims, which are not read, and the value.
func lowerFill(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 2, 1); err != nil {
		return nil, err
	}
	d := o.Out[0].Type.DType
	if d.Size() == 0 || o.In[1].Type.DType != d || o.In[1].Type.Shape.Rank() != 0 {
		return nil, fmt.Errorf("expected a scalar of type %v, got %v %v", d, o.In[1].Type.DType, o.In[1].Type.Shape)
	}
	s := &step{t: t, o: o}
	s.calls = func() ([]kernels.Call, error) {
		if o.Out[0].N == 0 {
			return nil, nil
		}
		return []kernels.Call{kernels.Fill(s.out(0), s.in(1), d.Size(), o.Out[0].N)}, nil
	}
	return s, nil
}

// lowerRange takes start, limit, which is not read, and delta.
func lowerRange(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 3, 1); err != nil {
		return nil, err
	}
	d := o.Out[0].Type.DType
	if err := typed(d, o.In[0], o.In[2]); err != nil {
		return nil, err
	}
	if !kernels.CanRange(d) {
		return nil, fmt.Errorf("element type %v is not supported", d)
	}
	s := &step{t: t, o: o}
	s.calls = func() ([]kernels.Call, error) {
		if o.Out[0].N == 0 {
			return nil, nil
		}
		return []kernels.Call{kernels.Range(d, s.out(0), s.in(0), s.in(2), o.Out[0].N)}, nil
	}
	return s, nil
}

// random takes shape (not read), key uint64[1], counter uint64[2] and the algorithm (not read).
func random(f func(dst driver.Ptr, r kernels.Random, n int) kernels.Call) lowering {
	return func(t *Target, o *engine.Operation) (Step, error) {
		if err := need(o, 3, 1); err != nil {
			return nil, err
		}
		if err := typed(tensor.Float32, o.Out[0]); err != nil {
			return nil, err
		}
		for i, in := range o.In[1:3] {
			if in.Type.DType != tensor.Uint64 || !in.Type.Shape.Equal(graph.ShapeOf(i+1)) {
				return nil, fmt.Errorf("expected key uint64 [1] and counter uint64 [2], got %v %v", in.Type.DType, in.Type.Shape)
			}
		}
		s := &step{t: t, o: o}
		s.calls = func() ([]kernels.Call, error) {
			if o.Out[0].N == 0 {
				return nil, nil
			}
			return []kernels.Call{f(s.out(0), kernels.Random{Key: s.in(1), Counter: s.in(2)}, o.Out[0].N)}, nil
		}
		return s, nil
	}
}
