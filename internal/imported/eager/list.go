package eager

import (
	"fmt"
	"unsafe"

	"github.com/goestimator/goestimator/tensor"
)

// tensorList is TensorFlow's list of tensors. Each is a value of its own that never changes, but what loops do, to change the
// latest in one place, takes the same time however long it is (persistent arrays: Baker, Shallow Binding Makes Functional Arrays
// Fast, 1991): the latest version has the elements, each before it knows the difference to the next. A run has lists of its own, so
// that none is used by two goroutines.
type tensorList struct {
	dtype tensor.DType
	shape []int // of elements: -1 is any size; nil where even the rank is any
	n     int
	bytes int // of all elements

	all  []*tensor.Tensor // of the latest version: nil elements were never set
	next *tensorList      // of another: the version that differs from this
	at   int              // in the element here,
	old  *tensor.Tensor   // which is this
}

// MemoryBytes is what all elements take.
func (l *tensorList) MemoryBytes() int { return l.bytes }

// listHeader is what the place of an element takes, tensorHeader what one that is set takes besides its own bytes.
const (
	listHeader   = 8
	tensorHeader = int(unsafe.Sizeof(tensor.Tensor{}))
)

// newList returns a list of n elements that were not set.
func newList(c call, dtype tensor.DType, shape []int, n int) (*tensorList, error) {
	if n < 0 {
		return nil, fmt.Errorf("expected a list of at least 0 elements, got %d", n)
	}
	if dtype == tensor.Variant || dtype == tensor.Resource {
		return nil, fmt.Errorf("lists of type %v %w", dtype, ErrUnsupported)
	}
	if err := c.room(n, listHeader); err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return &tensorList{dtype: dtype, shape: shape, n: n, bytes: n * listHeader, all: make([]*tensor.Tensor, n)}, nil
}

// root makes l the version that has the elements.
func (l *tensorList) root() []*tensor.Tensor {
	var path []*tensorList
	top := l
	for ; top.next != nil; top = top.next {
		path = append(path, top)
	}
	for i := len(path) - 1; i >= 0; i-- {
		v := path[i]
		all := top.all
		if v.at >= v.n { // top has an element more
			top.at, top.old = v.at, all[v.at]
			all = all[:v.n]
		} else if v.at >= top.n { // top has an element less
			top.at, top.old = v.at, nil
			all = append(all[:top.n], v.old)
		} else {
			top.at, top.old, all[v.at] = v.at, all[v.at], v.old
		}
		top.all, top.next = nil, v
		v.all, v.next, v.old = all, nil, nil
		top = v
	}
	return l.all
}

// with returns the list with another element; at its end it is one longer.
func (l *tensorList) with(c call, i int, t *tensor.Tensor) (*tensorList, error) {
	if err := l.fits(t); err != nil {
		return nil, err
	}
	all := l.root()
	w := &tensorList{dtype: l.dtype, shape: l.shape, n: max(l.n, i+1), bytes: l.bytes + sizeOf(t)}
	if i < l.n {
		w.bytes -= sizeOf(all[i])
	} else {
		w.bytes += listHeader
	}
	if w.bytes > c.env.limit() {
		return nil, fmt.Errorf("%w: a list of %d bytes, the limit is %d", ErrLimit, w.bytes, c.env.limit())
	}
	l.at, l.next, l.all = i, w, nil
	if i < l.n {
		l.old, all[i] = all[i], t
	} else {
		all = append(all, t)
	}
	w.all = all
	return w, nil
}

// without returns the list without its last element.
func (l *tensorList) without() *tensorList {
	all := l.root()
	last := l.n - 1
	w := &tensorList{dtype: l.dtype, shape: l.shape, n: last, bytes: l.bytes - listHeader - sizeOf(all[last])}
	l.at, l.old, l.next, l.all = last, all[last], w, nil
	w.all = all[:last]
	return w
}

// sizeOf is what a tensor takes, in bytes.
func sizeOf(t *tensor.Tensor) int {
	if t == nil {
		return 0
	}
	n := tensorHeader + len(t.Bytes)
	for _, s := range t.Strings {
		n += stringHeader + len(s)
	}
	return n
}

// fits fails for a tensor that the list is not made for.
func (l *tensorList) fits(t *tensor.Tensor) error {
	if t.DType != l.dtype {
		return fmt.Errorf("Invalid data types; list elements %v but tried to append %v", l.dtype, t.DType)
	}
	if _, err := merged(l.shape, sizes(t)); err != nil {
		return fmt.Errorf("tried to set a tensor with incompatible shape at a list index: %w", err)
	}
	return nil
}

// merged is the shape that both partial shapes agree to.
func merged(a, b []int) ([]int, error) {
	switch {
	case a == nil:
		return b, nil
	case b == nil:
		return a, nil
	case len(a) != len(b):
		return nil, fmt.Errorf("expected shape %v, got %v", a, b)
	}
	out := make([]int, len(a))
	for i := range a {
		switch {
		case a[i] < 0:
			out[i] = b[i]
		case b[i] < 0 || a[i] == b[i]:
			out[i] = a[i]
		default:
			return nil, fmt.Errorf("expected shape %v, got %v", a, b)
		}
	}
	return out, nil
}

// sizes is the shape of a tensor; of a scalar it is not nil, as that of any rank is.
func sizes(t *tensor.Tensor) []int { return append([]int{}, t.Shape...) }

// elementShape is the shape of all elements, as far as the list, what is asked for and those that are set say.
func (l *tensorList) elementShape(asked []int) ([]int, error) {
	shape, err := merged(l.shape, asked)
	if err != nil {
		return nil, err
	}
	for _, t := range l.root() {
		if t != nil {
			if shape, err = merged(shape, sizes(t)); err != nil {
				return nil, err
			}
		}
	}
	return shape, nil
}

// get returns an element; one that was not set is zeros.
func (l *tensorList) get(c call, i int, asked []int) (*tensor.Tensor, error) {
	if i < 0 || i >= l.n {
		return nil, fmt.Errorf("Trying to access element %d in a list with %d elements.", i, l.n)
	}
	t := l.root()[i]
	if t != nil {
		_, err := merged(asked, sizes(t))
		return t, err
	}
	shape, err := l.elementShape(asked)
	if err != nil {
		return nil, err
	}
	return l.zeros(c, shape)
}

func (l *tensorList) zeros(c call, shape []int) (*tensor.Tensor, error) {
	if !defined(shape) {
		return nil, fmt.Errorf("Trying to read an uninitialized tensor but element_shape is not fully defined: %v", shape)
	}
	return c.alloc(l.dtype, shape...)
}

// defined reports whether all sizes of a shape are known.
func defined(shape []int) bool {
	for _, d := range shape {
		if d < 0 {
			return false
		}
	}
	return shape != nil
}
