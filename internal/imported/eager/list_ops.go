package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// listOps are on lists of tensors, which TensorFlow's TensorArray is.
var listOps = map[*ops.Def]maker{
	ops.EmptyTensorList:        madeList(func(c call) (int, error) { return 0, rank("max_num_elements", c.t(1), 0) }),
	ops.TensorListReserve:      madeList(func(c call) (int, error) { return integer("num_elements", c.t(1)) }),
	ops.TensorListFromTensor:   plain(listFromTensor),
	ops.TensorListLength:       plain(listLength),
	ops.TensorListElementShape: listElementShape,
	ops.TensorListGetItem:      plain(listGet),
	ops.TensorListSetItem:      listSet,
	ops.TensorListPushBack:     plain(listPush),
	ops.TensorListPopBack:      plain(listPop),
	ops.TensorListResize:       plain(listResize),
	ops.TensorListStack:        listStack,
	ops.TensorListGather:       plain(listGather),
	ops.TensorListScatter:      plain(listScatter),
	ops.TensorListScatterV2:    plain(listScatter),
	ops.TensorListConcat:       plain(listConcat),
	ops.TensorListConcatV2:     plain(listConcat),
}

// list returns the list of input 0.
func (c call) list() (*tensorList, error) {
	l, ok := c.in[0].Resource.(*tensorList)
	if !ok {
		return nil, fmt.Errorf("input 0: expected a list of tensors, got %T", c.in[0].Resource)
	}
	return l, nil
}

func (c call) setList(i int, l *tensorList) { c.out[i] = Value{Resource: l} }

// partial reads a shape of elements: a scalar -1 is any rank.
func partial(t *tensor.Tensor) ([]int, error) {
	v, err := integers("element_shape", t)
	if err != nil {
		return nil, err
	}
	if len(t.Shape) == 0 {
		if v[0] != -1 {
			return nil, fmt.Errorf("element_shape: expected -1 or a vector, got %d", v[0])
		}
		return nil, nil
	}
	for _, d := range v {
		if d < -1 {
			return nil, fmt.Errorf("element_shape: expected sizes of at least -1, got %v", v)
		}
	}
	if _, err := elements(slices.DeleteFunc(slices.Clone(v), func(d int) bool { return d < 0 })); err != nil {
		return nil, err
	}
	return append([]int{}, v...), nil // not nil, whatever v is
}

func madeList(count func(call) (int, error)) maker {
	return func(s *site) (kernel, error) {
		dtype := s.dtype("element_dtype", tensor.Invalid)
		return func(c call) error {
			shape, err := partial(c.t(0))
			if err != nil {
				return err
			}
			n, err := count(c)
			if err != nil {
				return err
			}
			l, err := newList(c, dtype, shape, n)
			if err == nil {
				c.setList(0, l)
			}
			return err
		}, nil
	}
}

// unstacked returns the tensors along the first axis, as views. Rows may be many although they are empty.
func (c call) unstacked(t *tensor.Tensor) ([]*tensor.Tensor, error) {
	if len(t.Shape) == 0 {
		return nil, fmt.Errorf("Tensor must be at least a vector, but saw shape: []")
	}
	n := t.Shape[0]
	if err := c.room(n, listHeader+tensorHeader); err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	out := make([]*tensor.Tensor, n)
	each := len(t.Bytes) / max(n, 1)
	texts := len(t.Strings) / max(n, 1)
	for i := range out {
		out[i] = &tensor.Tensor{DType: t.DType, Shape: t.Shape[1:]}
		if t.DType == tensor.String {
			out[i].Strings = t.Strings[i*texts : (i+1)*texts : (i+1)*texts]
		} else {
			out[i].Bytes = t.Bytes[i*each : (i+1)*each : (i+1)*each]
		}
	}
	return out, nil
}

func listFromTensor(c call) error {
	shape, err := partial(c.t(1))
	if err != nil {
		return err
	}
	rows, err := c.unstacked(c.t(0))
	if err != nil {
		return err
	}
	l, err := newList(c, c.t(0).DType, shape, len(rows))
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		if err := l.fits(rows[0]); err != nil {
			return err
		}
	}
	l.all = rows
	for _, t := range rows {
		l.bytes += sizeOf(t)
	}
	c.setList(0, l)
	return nil
}

func listLength(c call) error {
	l, err := c.list()
	if err != nil {
		return err
	}
	return c.scalarInt(0, tensor.Int32, l.n)
}

func listElementShape(s *site) (kernel, error) {
	d := s.dtype("shape_type", tensor.Int32)
	return func(c call) error {
		l, err := c.list()
		if err != nil {
			return err
		}
		if l.shape == nil {
			return c.scalarInt(0, d, -1)
		}
		return c.outputInts(0, d, l.shape, len(l.shape))
	}, nil
}

func listGet(c call) error {
	l, err := c.list()
	if err != nil {
		return err
	}
	i, err := only("index", c.t(1))
	if err != nil {
		return err
	}
	shape, err := partial(c.t(2))
	if err != nil {
		return err
	}
	t, err := l.get(c, i, shape)
	if err == nil {
		c.set(0, t)
	}
	return err
}

func listSet(s *site) (kernel, error) {
	grows := s.boolean("resize_if_index_out_of_bounds", false)
	return func(c call) error {
		l, err := c.list()
		if err != nil {
			return err
		}
		i, err := integer("index", c.t(1))
		if err != nil {
			return err
		}
		if i < 0 || i >= l.n && !grows {
			return fmt.Errorf("Trying to modify element %d in a list with %d elements.", i, l.n)
		}
		if i > l.n {
			if l, err = l.resized(c, i); err != nil {
				return err
			}
		}
		if l, err = l.with(c, i, c.t(2)); err == nil {
			c.setList(0, l)
		}
		return err
	}, nil
}

func listPush(c call) error {
	l, err := c.list()
	if err != nil {
		return err
	}
	if l, err = l.with(c, l.n, c.t(1)); err == nil {
		c.setList(0, l)
	}
	return err
}

func listPop(c call) error {
	l, err := c.list()
	if err != nil {
		return err
	}
	if l.n == 0 {
		return fmt.Errorf("Trying to pop from an empty list.")
	}
	var shape []int
	if l.root()[l.n-1] == nil { // the shape is of no interest else
		if shape, err = partial(c.t(1)); err != nil {
			return err
		}
	}
	t, err := l.get(c, l.n-1, shape)
	if err != nil {
		return err
	}
	c.set(1, t)
	c.setList(0, l.without())
	return nil
}

// resized returns a list of n elements, the further ones not set.
func (l *tensorList) resized(c call, n int) (*tensorList, error) {
	w, err := newList(c, l.dtype, l.shape, n)
	if err != nil {
		return nil, err
	}
	for i, t := range l.root() {
		if i < n {
			w.all[i] = t
			w.bytes += sizeOf(t)
		}
	}
	return w, nil
}

func listResize(c call) error {
	l, err := c.list()
	if err != nil {
		return err
	}
	n, err := integer("size", c.t(1))
	if err != nil {
		return err
	}
	if l, err = l.resized(c, n); err == nil {
		c.setList(0, l)
	}
	return err
}

// stacked sets output 0 to tensors, one of nil as zeros, one after the other. all may be none.
func (c call) stacked(l *tensorList, all []*tensor.Tensor, asked []int) error {
	shape, err := l.elementShape(asked)
	if err != nil {
		return err
	}
	if !defined(shape) {
		return fmt.Errorf("Tried to stack elements of a list whose element shape is not fully defined: %v", shape)
	}
	out, err := c.output(0, l.dtype, slices.Concat([]int{len(all)}, shape)...)
	if err != nil {
		return err
	}
	n := out.Len() / max(len(all), 1)
	for i, t := range all {
		if t != nil { // what was never set is zeros
			copyCells(out, i*n, t, 0, n)
		}
	}
	return nil
}

func listStack(s *site) (kernel, error) {
	want := s.node.Int("num_elements", -1)
	return func(c call) error {
		l, err := c.list()
		if err != nil {
			return err
		}
		if want >= 0 && want != l.n {
			return fmt.Errorf("Operation expected a list with %d elements but got a list with %d elements.", want, l.n)
		}
		shape, err := partial(c.t(1))
		if err != nil {
			return err
		}
		return c.stacked(l, l.root(), shape)
	}, nil
}

func listGather(c call) error {
	l, err := c.list()
	if err != nil {
		return err
	}
	indices, err := integers("indices", c.t(1))
	if err != nil {
		return err
	}
	shape, err := partial(c.t(2))
	if err != nil {
		return err
	}
	picked := make([]*tensor.Tensor, len(indices))
	for k, i := range indices {
		if i < 0 || i >= l.n {
			return fmt.Errorf("Trying to gather element %d in a list with %d elements.", i, l.n)
		}
		picked[k] = l.root()[i]
	}
	return c.stacked(l, picked, shape)
}

// listScatter makes a list of rows at their indices, V2 one of as many elements as it says; -1: as many as the indices need.
func listScatter(c call) error {
	indices, err := integers("indices", c.t(1))
	if err != nil {
		return err
	}
	shape, err := partial(c.t(2))
	if err != nil {
		return err
	}
	rows, err := c.unstacked(c.t(0))
	if err != nil {
		return err
	}
	if len(rows) != len(indices) {
		return fmt.Errorf("expected an index for each of %d rows, got %d", len(rows), len(indices))
	}
	num := -1
	if len(c.in) == 4 {
		if num, err = integer("num_elements", c.t(3)); err != nil {
			return err
		}
	}
	n := max(num, 0)
	for _, i := range indices {
		if i < 0 {
			return fmt.Errorf("Indices in TensorListScatter must all be non-negative.")
		}
		if num >= 0 && i >= num {
			return fmt.Errorf("TensorListScatter: Trying to scatter at index %d in list with size %d", i, num)
		}
		n = max(n, i+1)
	}
	l, err := newList(c, c.t(0).DType, shape, n)
	if err != nil {
		return err
	}
	for k, i := range indices {
		if err := l.fits(rows[k]); err != nil {
			return err
		}
		l.bytes += sizeOf(rows[k]) - sizeOf(l.all[i])
		l.all[i] = rows[k]
	}
	c.setList(0, l)
	return nil
}

// listConcat joins elements along their first axis, and says how long each is there.
func listConcat(c call) error {
	l, err := c.list()
	if err != nil {
		return err
	}
	var rest []int
	lengths, total, cells := []int{}, 0, 0
	for i, t := range l.root() {
		if t == nil || len(t.Shape) == 0 {
			return fmt.Errorf("Concat saw an element %d without a first dimension or value", i)
		}
		if rest, err = merged(rest, sizes(t)[1:]); err != nil {
			return err
		}
		lengths, total = append(lengths, t.Shape[0]), total+t.Shape[0]
	}
	if rest == nil && len(l.shape) > 0 {
		rest = l.shape[1:]
	}
	if !defined(rest) {
		return fmt.Errorf("All except the first dimension must be fully defined when concating an empty tensor list, got %v", l.shape)
	}
	out, err := c.output(0, l.dtype, slices.Concat([]int{total}, rest)...)
	if err != nil {
		return err
	}
	for _, t := range l.root() {
		copyCells(out, cells, t, 0, t.Len())
		cells += t.Len()
	}
	return c.outputInts(1, tensor.Int64, lengths, len(lengths))
}
