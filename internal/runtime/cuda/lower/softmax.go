package lower

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// softmaxOps work along the last dimension, in float32.
var softmaxOps = map[*ops.Def]lowering{
	ops.Softmax: softmax(false), ops.LogSoftmax: softmax(true),
	ops.SoftmaxCrossEntropyWithLogits: lowerXent, ops.SparseSoftmaxCrossEntropyWithLogits: lowerSparseXent,
}

func softmax(log bool) lowering {
	return func(t *Target, o *engine.Operation) (Step, error) {
		if err := need(o, 1, 1); err != nil {
			return nil, err
		}
		if err := typed(tensor.Float32, o.In[0], o.Out[0]); err != nil {
			return nil, err
		}
		if o.In[0].Type.Shape.Rank() < 1 {
			return nil, fmt.Errorf("expected at least one dimension")
		}
		s := &step{t: t, o: o}
		s.calls = func() ([]kernels.Call, error) {
			rows, cols := rowsCols(o.In[0])
			if rows == 0 {
				return nil, nil
			}
			return []kernels.Call{kernels.Softmax(s.out(0), s.in(0), rows, cols, log)}, nil
		}
		return s, nil
	}
}

// rowsCols returns an operand's sizes as a matrix of its last dimension, with no rows if it has no elements.
func rowsCols(o *engine.Operand) (rows, cols int) {
	cols = 1
	if n := len(o.Dims); n > 0 {
		cols = o.Dims[n-1]
	}
	if cols == 0 {
		return 0, 0
	}
	return o.N / cols, cols
}

// checkXent fails unless logits [n,classes], loss [n] and backprop [n,classes] are float32.
func checkXent(o *engine.Operation) error {
	if err := need(o, 2, 2); err != nil {
		return err
	}
	x := o.In[0].Type.Shape
	if x.Rank() != 2 || !o.Out[1].Type.Shape.Equal(x) || !o.Out[0].Type.Shape.Equal(graph.Shape{Dims: x.Dims[:1]}) {
		return fmt.Errorf("expected logits [n,classes], loss [n] and backprop [n,classes], got %v, %v and %v", x, o.Out[0].Type.Shape, o.Out[1].Type.Shape)
	}
	return typed(tensor.Float32, o.In[0], o.Out[0], o.Out[1])
}

func (s *step) xent() kernels.Xent {
	rows, cols := rowsCols(s.o.In[0])
	return kernels.Xent{Loss: s.out(0), Backprop: s.out(1), Logits: s.in(0), Labels: s.in(1), Fault: s.t.fault(s.o), Rows: rows, Cols: cols}
}

func lowerXent(t *Target, o *engine.Operation) (Step, error) {
	if err := checkXent(o); err != nil {
		return nil, err
	}
	if err := typed(tensor.Float32, o.In[1]); err != nil {
		return nil, fmt.Errorf("labels: %w", err)
	}
	if !o.In[1].Type.Shape.Equal(o.In[0].Type.Shape) {
		return nil, fmt.Errorf("expected labels of shape %v, got %v", o.In[0].Type.Shape, o.In[1].Type.Shape)
	}
	s := &step{t: t, o: o}
	s.calls = func() ([]kernels.Call, error) {
		x := s.xent()
		if x.Rows == 0 {
			return nil, nil
		}
		return []kernels.Call{x.Dense()}, nil
	}
	return s, nil
}

func lowerSparseXent(t *Target, o *engine.Operation) (Step, error) {
	if err := checkXent(o); err != nil {
		return nil, err
	}
	d := o.In[1].Type.DType
	if d != tensor.Int32 && d != tensor.Int64 || !o.In[1].Type.Shape.Equal(o.Out[0].Type.Shape) {
		return nil, fmt.Errorf("expected int32 or int64 labels of shape %v, got %v %v", o.Out[0].Type.Shape, d, o.In[1].Type.Shape)
	}
	s := &step{t: t, o: o}
	s.calls = func() ([]kernels.Call, error) {
		x := s.xent()
		if x.Int64 = d == tensor.Int64; x.Rows == 0 {
			return nil, nil
		}
		return []kernels.Call{x.Sparse()}, nil
	}
	s.fault = func(f FaultRecord) error {
		return &host.LabelError{Row: int(f.Position), Label: f.Index, Classes: int(f.Size)}
	}
	return s, nil
}
