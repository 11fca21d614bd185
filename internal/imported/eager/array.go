package eager

import (
	"fmt"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/tensor"
)

// array is TensorFlow's TensorArray: each element is written once, and, if clears is set, read once. It belongs to the step
// that made it, and its handle does not leave the device.
type array struct {
	name      string
	dtype     tensor.DType
	grows     bool // writes beyond the end extend the array
	clears    bool // a read drops the element
	identical bool // all elements have the first one's shape
	adds      bool // several writes to an element are summed: gradients

	mu        sync.Mutex
	shape     []int // of elements: -1 is any size; nil is any rank
	elements  []arrayElement
	gradients map[string]*array // by source
	closed    bool
}

type arrayElement struct {
	t       *tensor.Tensor
	read    bool
	cleared bool
	own     bool // t is not shared: it may be added to
}

// check fails for a closed array. The mutex is held.
func (a *array) check() error {
	if a.closed {
		return fmt.Errorf("TensorArray %s has already been closed.", a.name)
	}
	return nil
}

// write sets an element. The mutex is held.
func (a *array) write(c call, i int, t *tensor.Tensor) error {
	if i < 0 || i >= len(a.elements) && !a.grows {
		return fmt.Errorf("TensorArray %s: Tried to write to index %d but array is not resizeable and size is: %d", a.name, i, len(a.elements))
	}
	if t.DType != a.dtype {
		return fmt.Errorf("TensorArray %s: Could not write to TensorArray index %d because the value dtype is %v but TensorArray dtype is %v.", a.name, i, t.DType, a.dtype)
	}
	shape, err := merged(a.shape, sizes(t))
	if err != nil {
		return fmt.Errorf("TensorArray %s: Could not write to TensorArray index %d because the value shape is %v which is incompatible with the TensorArray's inferred element shape: %v (consider setting infer_shape=False).", a.name, i, t.Shape, a.shape)
	}
	if n := i + 1 - len(a.elements); n > 0 {
		if err := c.room(n, listHeader+tensorHeader); err != nil {
			return fmt.Errorf("TensorArray %s: %w", a.name, err)
		}
		a.elements = append(a.elements, make([]arrayElement, n)...)
	}
	e := &a.elements[i]
	switch {
	case e.read:
		return fmt.Errorf("TensorArray %s: Could not write to TensorArray index %d because it has already been read.", a.name, i)
	case e.t != nil && !a.adds:
		return fmt.Errorf("TensorArray %s: Could not write to TensorArray index %d because it has already been written to.", a.name, i)
	case e.t != nil:
		return e.add(c, t)
	}
	if a.identical {
		a.shape = shape
	}
	e.t = t
	return nil
}

// add adds a tensor to an element.
func (e *arrayElement) add(c call, t *tensor.Tensor) error {
	if _, err := merged(sizes(e.t), sizes(t)); err != nil {
		return fmt.Errorf("Could not aggregate to TensorArray index because the value shape is %v but previously written value has shape %v", t.Shape, e.t.Shape)
	}
	if !e.own {
		if err := c.pay(sizeOf(e.t)); err != nil {
			return err
		}
		e.t, e.own = e.t.Clone(), true
	}
	return addition.slices(e.t, []int{0}, t, e.t.Len())
}

// value reads an element; an unwritten one is zeros. The mutex is held.
func (a *array) value(c call, i int) (*tensor.Tensor, error) {
	if i < 0 || i >= len(a.elements) {
		return nil, fmt.Errorf("TensorArray %s: Tried to read from index %d but array size is: %d", a.name, i, len(a.elements))
	}
	e := &a.elements[i]
	if e.cleared {
		return nil, fmt.Errorf("TensorArray %s: Could not read index %d twice because it was cleared after a previous read (perhaps try setting clear_after_read = false?).", a.name, i)
	}
	if e.t == nil {
		if !defined(a.shape) {
			return nil, fmt.Errorf("TensorArray %s: Could not read from TensorArray index %d.  Furthermore, the element shape is not fully defined: %v.", a.name, i, a.shape)
		}
		t, err := c.alloc(a.dtype, a.shape...)
		if err != nil {
			return nil, err
		}
		e.t = t
	}
	t := e.t
	e.read, e.own = true, false
	if a.clears {
		e.t, e.cleared = nil, true
	}
	return t, nil
}

// gradient returns the array of gradients for a source. Its elements have the dimensions front, then the dimensions of the forward
// array's elements. The forward array cannot grow from then on.
func (a *array) gradient(c call, source string, front []int) (*array, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.check(); err != nil {
		return nil, err
	}
	if g := a.gradients[source]; g != nil {
		return g, nil
	}
	if err := c.room(len(a.elements), listHeader+tensorHeader); err != nil {
		return nil, err
	}
	a.grows = false
	shape := a.shape
	if shape != nil {
		shape = slices.Concat(front, shape)
	}
	g := &array{name: a.name + "@" + source, dtype: a.dtype, clears: a.clears, identical: a.identical, adds: true, shape: shape, elements: make([]arrayElement, len(a.elements))}
	if a.gradients == nil {
		a.gradients = map[string]*array{}
	}
	a.gradients[source] = g
	return g, nil
}
