package lower

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// rowsOps sum rows named by ids, for tensors and for variables.
var rowsOps = map[*ops.Def]lowering{
	ops.UnsortedSegmentSum: lowerSegmentSum,
	ops.SumByIndex:         lowerSumByIndex,
	ops.ResourceScatterAdd: lowerScatter(host.Add),
	ops.ResourceScatterSub: lowerScatter(host.Sub),
}

// rows is a step that sums rows [ids..., ...] by ids, for a table [n, ...]. Its workspace has the sort's, then the sums of parts.
type rows struct {
	step
	ids, data int // inputs
	table     *engine.Operand
	element   kernels.Element
	into      func(r kernels.Runs, order driver.Ptr) kernels.Call // adds the sums to the table, or sets them
	empty     bool                                                // the table is cleared first
	of        graph.Dim                                           // number of rows that the ids can name
}

// newRows checks the ids and the data's shape and type.
func newRows(t *Target, o *engine.Operation, ids, data int, table *engine.Operand) (*rows, error) {
	if err := need(o, max(ids, data)+1, 0); err != nil {
		return nil, err
	}
	if _, err := integers(o, ids); err != nil {
		return nil, err
	}
	s := &rows{step: step{t: t, o: o}, ids: ids, data: data, table: table, element: elementOf[table.Type.DType], of: graph.Fixed(0)}
	if table.Type.Shape.Rank() > 0 {
		s.of = table.Type.Shape.Dims[0]
	}
	if s.element == "" || table.Type.Shape.Rank() < 1 {
		return nil, fmt.Errorf("expected a table [n, ...] of numbers, got %v", table.Type)
	}
	if err := typed(table.Type.DType, o.In[data]); err != nil {
		return nil, err
	}
	return s, shaped("rows", o.In[data], o.In[ids].Type.Shape.Dims, table.Type.Shape.Dims[1:])
}

// sort returns the sort of n ids, without addresses.
func (s *rows) sort(n, rows int) kernels.Sort {
	return kernels.Sort{N: n, Rows: rows, Int64: s.o.In[s.ids].Type.DType == tensor.Int64, Fault: s.note()}
}

// Workspace implements Step.
func (s *rows) Workspace(batch int) int {
	ids, data := s.o.In[s.ids].Type.Shape, s.o.In[s.data].Type
	n := s.sort(ids.ElementsAt(batch), s.of.At(batch)).ScratchBytes()
	return kernels.Aligned(n) + data.Shape.ElementsAt(batch)*data.DType.Size()
}

// Bind implements Step.
func (s *rows) Bind() ([]Launch, error) {
	var all []Launch
	if s.empty && s.table.N > 0 {
		all = append(all, zeroed(s.table))
	}
	n, count, cols := s.o.In[s.ids].N, s.table.Dims[0], product(s.table.Dims[1:])
	if s.of.Static() {
		count = s.of.Const
	}
	sort := s.sort(n, count)
	if err := sort.Check(); err != nil || n == 0 || cols == 0 {
		return all, err
	}
	sort.IDs, sort.Scratch = s.in(s.ids), Address(&s.o.Workspace)
	calls, keys, order := sort.Calls()
	r := kernels.Runs{Keys: keys, Parts: sort.Scratch + driver.Ptr(kernels.Aligned(sort.ScratchBytes())), N: n, Rows: count, Cols: cols}
	calls = append(calls, r.Sum(s.element, s.in(s.data), order))
	if s.o.Guard != nil { // the guard is older than the faults that the sort finds
		calls = append(calls, kernels.Guard(Address(s.o.Guard), 0, s.t.Fault))
	}
	calls = append(calls, s.into(r, order))
	return append(all, Launches(s.t.Kernels, calls...)...), nil
}

// lowerSegmentSum takes data, segment_ids and num_segments (not read).
func lowerSegmentSum(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 2, 1); err != nil {
		return nil, err
	}
	s, err := newRows(t, o, 1, 0, o.Out[0])
	if err != nil {
		return nil, err
	}
	s.empty = true
	s.into = func(r kernels.Runs, _ driver.Ptr) kernels.Call { return r.Set(s.element, s.out(0), t.Fault) }
	return s, nil
}

// lowerSumByIndex takes rows [n, ...] and ids [n]: see graph.SumByIndex.
func lowerSumByIndex(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 2, 2); err != nil {
		return nil, err
	}
	s, err := newRows(t, o, 1, 0, o.Out[0])
	if err != nil {
		return nil, err
	}
	d, size := o.In[1].Type.DType, o.Node.Int("rows", -1)
	if s.element != kernels.Float32 && s.element != kernels.Float64 || size < 0 {
		return nil, fmt.Errorf("expected rows of floats of a table, got %v of %d", s.element, size)
	}
	if err := typed(d, o.Out[1]); err != nil {
		return nil, err
	}
	s.of = graph.Fixed(int(size))
	s.into = func(r kernels.Runs, order driver.Ptr) kernels.Call {
		return r.Apart(s.element, s.out(0), s.out(1), order, d == tensor.Int64)
	}
	return s, errors.Join(shaped("sums", o.Out[0], o.In[0].Type.Shape.Dims), shaped("result", o.Out[1], o.In[0].Type.Shape.Dims[:1]))
}

// lowerScatter takes a variable, ids and rows; op is Add or Sub.
func lowerScatter(op host.BinaryOp) lowering {
	return func(t *Target, o *engine.Operation) (Step, error) {
		if err := need(o, 3, 0); err != nil {
			return nil, err
		}
		s, err := newRows(t, o, 1, 2, o.In[0])
		if err != nil {
			return nil, err
		}
		s.into = func(r kernels.Runs, _ driver.Ptr) kernels.Call { return r.Fold(op, s.element, s.in(0), t.guard(o)) }
		return s, nil
	}
}

// lowerSparseUpdate takes variables, scalars, rows and ids as described by updates. Rows of equal ids are summed before the rule.
func lowerSparseUpdate(t *Target, o *engine.Operation) (Step, error) {
	u, err := checkUpdate(o)
	if err != nil {
		return nil, err
	}
	s, err := newRows(t, o, u.Indices, u.Gradient, o.In[0])
	if err != nil {
		return nil, err
	}
	s.into = func(r kernels.Runs, _ driver.Ptr) kernels.Call { return updateOf(t, o).Rows(r) }
	return s, nil
}
