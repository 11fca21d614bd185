package lower

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// raggedOps work on values of examples of different lengths: see the ops of the same names in internal/runtime/engine.
var raggedOps = map[*ops.Def]lowering{
	ops.UpperBound:           lowerUpperBound,
	ops.RaggedTensorToTensor: lowerRaggedDense,
	ops.RowNumbers:           lowerRowNumbers,
	ops.RaggedCombine:        lowerCombine,
	ops.RaggedSpread:         lowerSpread,
}

// elementOf has the types that sums and searches support.
var elementOf = map[tensor.DType]kernels.Element{tensor.Float32: kernels.Float32, tensor.Float64: kernels.Float64, tensor.Int32: kernels.Int32, tensor.Int64: kernels.Int64}

// lowerUpperBound takes sorted rows [n,m] and values [n,k].
func lowerUpperBound(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 2, 1); err != nil {
		return nil, err
	}
	sorted, values, out := o.In[0], o.In[1], o.Out[0]
	e, wide := elementOf[sorted.Type.DType], out.Type.DType == tensor.Int64
	if e == "" || sorted.Type.Shape.Rank() != 2 || values.Type.Shape.Rank() != 2 || !wide && out.Type.DType != tensor.Int32 {
		return nil, fmt.Errorf("expected sorted rows, rows of values and an integer result, got %v, %v and %v", sorted.Type, values.Type, out.Type)
	}
	s := &step{t: t, o: o}
	s.calls = func() ([]kernels.Call, error) {
		if out.N == 0 {
			return nil, nil
		}
		return []kernels.Call{kernels.UpperBound(e, s.out(0), s.in(0), s.in(1), wide, sorted.Dims[0], sorted.Dims[1], values.Dims[1])}, nil
	}
	return s, errors.Join(typed(sorted.Type.DType, values), shaped("values", values, sorted.Type.Shape.Dims[:1], values.Type.Shape.Dims[1:]), shaped("result", out, values.Type.Shape.Dims))
}

// ragged is a step over the values of examples.
type ragged struct {
	step
	offsets int // which input has them
	ids     int // which input has the ids; -1 for none
}

// newRagged checks ids [n] and the offsets [examples+1].
func newRagged(t *Target, o *engine.Operation, ids, offsets int) (*ragged, error) {
	s := &ragged{step{t: t, o: o, fault: raggedFault}, offsets, ids}
	if ids >= 0 {
		if _, err := integers(o, ids); err != nil {
			return nil, err
		}
		if o.In[ids].Type.Shape.Rank() != 1 {
			return nil, fmt.Errorf("input %d: expected ids [n], got %v", ids, o.In[ids].Type)
		}
	}
	if at := o.In[offsets].Type; at.DType != tensor.Int64 || at.Shape.Rank() != 1 {
		return nil, fmt.Errorf("input %d: expected offsets int64 [examples+1], got %v", offsets, at)
	}
	return s, nil
}

// raggedFault distinguishes invalid offsets from an id that is no row: see kernels.Ragged.Check.
func raggedFault(f FaultRecord) error {
	if f.Size < 0 {
		return fmt.Errorf("offset %d is %d: expected offsets from 0 on that do not fall, at most %d", f.Position, f.Index, -1-f.Size)
	}
	return &engine.IndexError{Index: int(f.Index), Position: int(f.Position), Size: int(f.Size)}
}

// of fails unless there are offsets for that many examples.
func (s *ragged) of(examples graph.Dim) error {
	examples.Const++
	return shaped("offsets", s.o.In[s.offsets], []graph.Dim{examples})
}

// values returns n values for the kernels.
func (s *ragged) values(n int) kernels.Ragged {
	r := kernels.Ragged{Offsets: s.in(s.offsets), N: n, Examples: s.o.In[s.offsets].N - 1, Fault: s.note()}
	if s.ids >= 0 {
		r.IDs, r.Int64 = s.in(s.ids), s.o.In[s.ids].Type.DType == tensor.Int64
	}
	return r
}

// checked puts the check of the offsets before a call, and leaves the call out if its result is empty.
func checked(r kernels.Ragged, out *engine.Operand, c func() kernels.Call) []kernels.Call {
	if out.N == 0 {
		return []kernels.Call{r.Check()}
	}
	return []kernels.Call{r.Check(), c()}
}

// lowerRaggedDense takes shape (not read), values [n], a default value and row splits.
func lowerRaggedDense(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 4, 1); err != nil {
		return nil, err
	}
	if k, ok := o.Node.Attrs["row_partition_types"].([][]byte); !ok || len(k) != 1 || string(k[0]) != "ROW_SPLITS" || len(o.In) != 4 {
		return nil, fmt.Errorf("expected one row partition of the type ROW_SPLITS, got %q", k)
	}
	x, none, out := o.In[1], o.In[2], o.Out[0]
	if _, err := newMoving(t, o, x, none, out); err != nil {
		return nil, err
	}
	if x.Type.Shape.Rank() != 1 || none.Type.Shape.Rank() != 0 || out.Type.Shape.Rank() != 2 {
		return nil, fmt.Errorf("expected values [n], a scalar and a result [examples,m], got %v, %v and %v", x.Type, none.Type, out.Type)
	}
	s, err := newRagged(t, o, -1, 3)
	if err != nil {
		return nil, err
	}
	s.calls = func() ([]kernels.Call, error) {
		r := s.values(x.N)
		return checked(r, out, func() kernels.Call {
			return r.Dense(s.out(0), s.in(1), s.in(2), x.Type.DType.Size(), out.Dims[1])
		}), nil
	}
	return s, s.of(out.Type.Shape.Dims[0])
}

// lowerRowNumbers takes ids [n] and offsets.
func lowerRowNumbers(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 2, 1); err != nil {
		return nil, err
	}
	s, err := newRagged(t, o, 0, 1)
	if err != nil {
		return nil, err
	}
	ids, out := o.In[0], o.Out[0]
	s.calls = func() ([]kernels.Call, error) {
		r := s.values(ids.N)
		return checked(r, out, func() kernels.Call { return r.RowNumbers(s.out(0)) }), nil
	}
	return s, errors.Join(typed(tensor.Int32, out), shaped("result", out, ids.Type.Shape.Dims))
}

// lowerCombine takes rows [n, ...] or a table, ids [n], offsets and optional weights [n].
func lowerCombine(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 3, 1); err != nil {
		return nil, err
	}
	s, err := newRagged(t, o, 1, 2)
	if err != nil {
		return nil, err
	}
	rows, ids, out, table := o.In[0], o.In[1], o.Out[0], o.Node.Bool("gather")
	if err := typed(tensor.Float32, append([]*engine.Operand{rows, out}, o.In[3:]...)...); err != nil {
		return nil, err
	}
	if rows.Type.Shape.Rank() < 1 || out.Type.Shape.Rank() < 1 {
		return nil, fmt.Errorf("expected rows [n, ...] and sums [examples, ...], got %v and %v", rows.Type, out.Type)
	}
	n := ids.Type.Shape.Dims
	if table {
		n = rows.Type.Shape.Dims[:1]
	}
	s.calls = func() ([]kernels.Call, error) {
		if len(o.In) > 3 && o.In[3].N != ids.N {
			return nil, fmt.Errorf("expected %d weights, got %d", ids.N, o.In[3].N)
		}
		r := s.values(ids.N)
		return checked(r, out, func() kernels.Call {
			var weights driver.Ptr
			if len(o.In) > 3 {
				weights = s.in(3)
			}
			of := 0
			if table {
				of = rows.Dims[0]
			}
			return r.Combine(s.out(0), s.in(0), weights, of, product(out.Dims[1:]))
		}), nil
	}
	return s, errors.Join(s.of(out.Type.Shape.Dims[0]), shaped("rows", rows, n, out.Type.Shape.Dims[1:]))
}

// lowerSpread takes rows [examples, ...], ids [n] and offsets.
func lowerSpread(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 3, 1); err != nil {
		return nil, err
	}
	s, err := newRagged(t, o, 1, 2)
	if err != nil {
		return nil, err
	}
	x, ids, out := o.In[0], o.In[1], o.Out[0]
	if err := typed(tensor.Float32, x, out); err != nil {
		return nil, err
	}
	if x.Type.Shape.Rank() < 1 {
		return nil, fmt.Errorf("expected rows [examples, ...], got %v", x.Type)
	}
	s.calls = func() ([]kernels.Call, error) {
		r := s.values(ids.N)
		return checked(r, out, func() kernels.Call { return r.Spread(s.out(0), s.in(0), product(out.Dims[1:])) }), nil
	}
	return s, errors.Join(s.of(x.Type.Shape.Dims[0]), shaped("result", out, ids.Type.Shape.Dims, x.Type.Shape.Dims[1:]))
}
