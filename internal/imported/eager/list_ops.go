package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// listOps work on lists of tensors, such as TensorFlow 2's TensorArray.
var listOps = map[*ops.Def]maker{
	ops.EmptyTensorList:        madeList(growing),
	ops.TensorListReserve:      madeList(reserved),
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
	ops.TensorListConcat:       listConcat,
	ops.TensorListConcatV2:     listConcat,

	ops.TensorListSplit: plain(listSplit), ops.TensorListScatterIntoExistingList: plain(listScatterInto),
}

// list returns the list in input 0.
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
	return append([]int{}, v...), nil // never nil
}

// reserved returns the number of elements of a new list, and how many may be pushed: any number.
func reserved(c call) (n, most int, err error) {
	n, err = integer("num_elements", c.t(1))
	return n, -1, err
}

// growing returns the same for an initially empty list.
func growing(c call) (n, most int, err error) {
	most, err = integer("max_num_elements", c.t(1))
	return 0, most, err
}

func madeList(size func(call) (n, most int, err error)) maker {
	return func(s *site) (kernel, error) {
		dtype := s.dtype("element_dtype", tensor.Invalid)
		return func(c call) error {
			shape, err := partial(c.t(0))
			if err != nil {
				return err
			}
			n, most, err := size(c)
			if err != nil {
				return err
			}
			l, err := newList(c, dtype, shape, n)
			if err != nil {
				return err
			}
			l.most = most
			c.setList(0, l)
			return nil
		}, nil
	}
}

// unstacked returns views of the rows of t. There may be many rows even if they are empty.
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
	if c.t(0) == nil {
		return listFromVariants(c, shape)
	}
	rows, err := c.unstacked(c.t(0))
	if err != nil {
		return err
	}
	l, err := newList(c, c.t(0).DType, shape, len(rows))
	if err != nil {
		return err
	}
	for i, t := range rows {
		if i == 0 {
			if err := l.fits(Value{T: t}); err != nil {
				return err
			}
		}
		l.all[i] = Value{T: t}
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
	c.out[0], err = l.get(c, i, shape)
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
		if l, err = l.with(c, i, c.in[2]); err == nil {
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
	if l.most >= 0 && l.n >= l.most {
		return fmt.Errorf("Tried to push item into a full list list size: %d max_num_elements: %d", l.n, l.most)
	}
	if l, err = l.with(c, l.n, c.in[1]); err == nil {
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
	if l.element(l.n-1) == (Value{}) { // else the shape is not needed
		if shape, err = partial(c.t(1)); err != nil {
			return err
		}
	}
	v, err := l.get(c, l.n-1, shape)
	if err != nil {
		return err
	}
	c.out[1] = v
	c.setList(0, l.without())
	return nil
}

// resized returns a list of n elements; new elements are unset.
func (l *tensorList) resized(c call, n int) (*tensorList, error) {
	w, err := newList(c, l.dtype, l.shape, n)
	if err != nil {
		return nil, err
	}
	w.most, w.depth = l.most, l.depth
	copy(w.all, l.elements())
	for _, v := range w.all {
		w.bytes += weight(v)
	}
	return w, w.holds(c, Value{})
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
