package eager

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/goestimator/goestimator/tensor"
)

// tensorList is TensorFlow's list of tensors. Each list is an immutable value, but what loops do, changing one element of the
// latest version, takes constant time whatever the length (persistent arrays: Baker, Shallow Binding Makes Functional Arrays
// Fast, 1991): the latest version has the elements, each earlier one knows its difference to the next. The versions of a list share
// a lock, so that nodes may use them at the same time.
type tensorList struct {
	dtype tensor.DType
	shape []int // of elements: -1 is any size; nil is any rank
	most  int   // the maximum number of pushed elements, -1: any number
	n     int
	bytes int // memory of all elements
	depth int // maximum nesting depth of lists and optionals

	mu   *sync.Mutex // shared by all versions, guards the fields below
	all  []Value     // of the latest version: elements without a value were never set
	next *tensorList // of an earlier version: the version that differs from this one
	at   int         // in this element,
	old  Value       // which has this value here
}

// MemoryBytes returns the bytes that all elements take.
func (l *tensorList) MemoryBytes() int { return l.bytes }

// listHeader is the memory of an element's slot, tensorHeader the memory of a set element besides its own bytes.
const (
	listHeader   = int(unsafe.Sizeof(Value{}))
	tensorHeader = int(unsafe.Sizeof(tensor.Tensor{}))
)

// maxDepth is the maximum nesting depth of lists and optionals. TensorFlow's messages may be nested 100 deep.
const maxDepth = 32

// newList returns a list of n unset elements.
func newList(c call, dtype tensor.DType, shape []int, n int) (*tensorList, error) {
	if n < 0 {
		return nil, fmt.Errorf("expected a list of at least 0 elements, got %d", n)
	}
	if dtype == tensor.Resource {
		return nil, fmt.Errorf("lists of type %v %w", dtype, ErrUnsupported)
	}
	if err := c.room(n, listHeader); err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return &tensorList{dtype: dtype, shape: shape, most: -1, n: n, bytes: n * listHeader, depth: 1, mu: new(sync.Mutex), all: make([]Value, n)}, nil
}

// elements returns all elements.
func (l *tensorList) elements() []Value {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.root())
}

// element returns one element.
func (l *tensorList) element(i int) Value {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.root()[i]
}

// root makes l the version that has the elements. The lock is held, also while the result is used.
func (l *tensorList) root() []Value {
	var path []*tensorList
	top := l
	for ; top.next != nil; top = top.next {
		path = append(path, top)
	}
	for i := len(path) - 1; i >= 0; i-- {
		v := path[i]
		all := top.all
		if v.at >= v.n { // top has one more element
			top.at, top.old = v.at, all[v.at]
			all = all[:v.n]
		} else if v.at >= top.n { // top has one less element
			top.at, top.old = v.at, Value{}
			all = append(all[:top.n], v.old)
		} else {
			top.at, top.old, all[v.at] = v.at, all[v.at], v.old
		}
		top.all, top.next = nil, v
		v.all, v.next, v.old = all, nil, Value{}
		top = v
	}
	return l.all
}

// with returns the list with element i replaced, or appended if i is its length.
func (l *tensorList) with(c call, i int, v Value) (*tensorList, error) {
	if err := l.fits(v); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.root()
	w := l.version(max(l.n, i+1), l.bytes+weight(v))
	if i < l.n {
		w.bytes -= weight(all[i])
	} else {
		w.bytes += listHeader
	}
	if err := w.holds(c, v); err != nil {
		return nil, err
	}
	if i >= l.n {
		var err error
		if all, err = grown(c.env.Payer, all, listHeader+tensorHeader); err != nil {
			return nil, err
		}
	}
	l.at, l.next, l.all = i, w, nil
	if i < l.n {
		l.old, all[i] = all[i], v
	} else {
		all = append(all, v)
	}
	w.all = all
	return w, nil
}

// without returns the list without its last element.
func (l *tensorList) without() *tensorList {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.root()
	last := l.n - 1
	w := l.version(last, l.bytes-listHeader-weight(all[last]))
	l.at, l.old, l.next, l.all = last, all[last], w, nil
	w.all = all[:last]
	return w
}

// version returns a list with the properties of this one, for other elements.
func (l *tensorList) version(n, bytes int) *tensorList {
	return &tensorList{dtype: l.dtype, shape: l.shape, most: l.most, n: n, bytes: bytes, depth: l.depth, mu: l.mu}
}

// holds updates the list for a new element v. It fails if the list becomes too large, or too deep.
func (l *tensorList) holds(c call, v Value) error {
	if l.bytes > c.env.limit() {
		return fmt.Errorf("%w: a list of %d bytes, the limit is %d", ErrLimit, l.bytes, c.env.limit())
	}
	l.depth = max(l.depth, 1+depth(v))
	return tooDeep(l.depth)
}

// depth returns the nesting depth of lists and optionals in a value.
func depth(v Value) int {
	switch r := v.Resource.(type) {
	case *tensorList:
		return r.depth
	case *optional:
		return r.depth
	case *variantArray:
		return r.depth
	}
	return 0
}

func tooDeep(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: lists and optionals are in each other, at most %d are possible", ErrLimit, maxDepth)
	}
	return nil
}

// weight returns the memory of an element besides its slot, in bytes.
func weight(v Value) int {
	switch r := v.Resource.(type) {
	case *tensorList:
		return tensorHeader + r.bytes
	case *optional:
		return r.bytes
	case *raggedVariant:
		return r.MemoryBytes()
	}
	return sizeOf(v.T)
}

// sizeOf returns the memory of a tensor, in bytes.
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

// fits fails for a value of the wrong type or shape.
func (l *tensorList) fits(v Value) error {
	dtype, shape := tensor.Variant, []int{}
	if v.T != nil {
		dtype, shape = v.T.DType, sizes(v.T)
	}
	if dtype != l.dtype {
		return fmt.Errorf("Invalid data types; list elements %v but tried to append %v", l.dtype, dtype)
	}
	if _, err := merged(l.shape, shape); err != nil {
		return fmt.Errorf("tried to set a tensor with incompatible shape at a list index: %w", err)
	}
	return nil
}

// merged returns the shape that agrees with both partial shapes.
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

// sizes returns the shape of a tensor. It is not nil for a scalar, as nil means any rank.
func sizes(t *tensor.Tensor) []int { return append([]int{}, t.Shape...) }

// elementShape returns the shape of all elements, as far as the list, asked and the set elements determine it.
func (l *tensorList) elementShape(asked []int, all []Value) ([]int, error) {
	shape, err := merged(l.shape, asked)
	if err != nil {
		return nil, err
	}
	for _, v := range all {
		if v.T != nil {
			if shape, err = merged(shape, sizes(v.T)); err != nil {
				return nil, err
			}
		}
	}
	return shape, nil
}

// get returns an element; an unset one is zeros.
func (l *tensorList) get(c call, i int, asked []int) (Value, error) {
	if i < 0 || i >= l.n {
		return Value{}, fmt.Errorf("Trying to access element %d in a list with %d elements.", i, l.n)
	}
	v := l.element(i)
	if v.T != nil {
		_, err := merged(asked, sizes(v.T))
		return v, err
	}
	if v.Resource != nil {
		return v, nil
	}
	shape, err := l.elementShape(asked, l.elements())
	if err != nil {
		return Value{}, err
	}
	t, err := l.zeros(c, shape)
	return Value{T: t}, err
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
