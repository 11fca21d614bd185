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
