package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/imported/dataset"
)

// variant reports whether a value is a list or optional, for which TensorFlow adds, and makes zeros, element by element.
func variant(v Value) bool {
	switch v.Resource.(type) {
	case *tensorList, *optional, *raggedVariant, *variantArray:
		return true
	}
	return false
}

// zeros returns zeros of a value's types and shapes. Unset elements of lists stay unset.
func (c call) zeros(v Value) (Value, error) {
	switch r := v.Resource.(type) {
	case *tensorList:
		return c.eachOf(r, r.shape, func(i int, v Value) (Value, error) { return c.zeros(v) })
	case *optional:
		if !r.has {
			return v, nil
		}
		return c.eachIn(r, func(i int, v Value) (Value, error) { return c.zeros(v) })
	}
	if v.T == nil {
		return v, nil
	}
	t, err := c.alloc(v.T.DType, v.T.Shape...)
	return Value{T: t}, err
}

// sum adds two values: tensors of the same shape, or lists or optionals element by element. Unset elements count as zero.
func (c call) sum(a, b Value) (Value, error) {
	switch {
	case a == Value{}:
		return b, nil
	case b == Value{}:
		return a, nil
	case a.T != nil && b.T != nil:
		if !slices.Equal(a.T.Shape, b.T.Shape) {
			return Value{}, fmt.Errorf("Trying to add two tensors with incompatible element shapes. One is %v and the other is %v", a.T.Shape, b.T.Shape)
		}
		c.in, c.out = []Value{a, b}, make([]Value, 1)
		err := addPair(c)
		return c.out[0], err
	}
	if l, ok := a.Resource.(*tensorList); ok {
		if m, ok := b.Resource.(*tensorList); ok {
			return c.sumLists(l, m)
		}
	}
	if o, ok := a.Resource.(*optional); ok {
		if p, ok := b.Resource.(*optional); ok {
			return c.sumOptionals(o, p)
		}
	}
	return Value{}, fmt.Errorf("expected two tensors, two lists or two optionals to add, got %v and %v", kindOf(a), kindOf(b))
}

func kindOf(v Value) string {
	if v.T != nil {
		return v.T.DType.String()
	}
	return fmt.Sprintf("%T", v.Resource)
}

func (c call) sumLists(a, b *tensorList) (Value, error) {
	if a.dtype != b.dtype {
		return Value{}, fmt.Errorf("Trying to add two lists of tensors of different dtypes. One is %v and the other is %v", a.dtype, b.dtype)
	}
	shape, err := merged(a.shape, b.shape)
	if err != nil {
		return Value{}, fmt.Errorf("Trying to add two lists of tensors with incompatible element shapes. One is %v and the other is %v", a.shape, b.shape)
	}
	if a.n != b.n {
		return Value{}, fmt.Errorf("Trying to add two lists of tensors with different lengths. One is %d and the other is %d", a.n, b.n)
	}
	others := b.elements()
	return c.eachOf(a, shape, func(i int, v Value) (Value, error) { return c.sum(v, others[i]) })
}

func (c call) sumOptionals(a, b *optional) (Value, error) {
	switch {
	case a.has != b.has:
		return Value{}, fmt.Errorf("Cannot add optionals because one has a value and the other doesn't.")
	case !a.has:
		return Value{Resource: a}, nil
	case len(a.e) != len(b.e):
		return Value{}, fmt.Errorf("Cannot add optionals because they have different numbers of components: %d and %d.", len(a.e), len(b.e))
	}
	return c.eachIn(a, func(i int, v Value) (Value, error) { return c.sum(v, Value(b.e[i])) })
}

// eachOf returns a list of f's results for the elements of l.
func (c call) eachOf(l *tensorList, shape []int, f func(i int, v Value) (Value, error)) (Value, error) {
	w, err := newList(c, l.dtype, shape, l.n)
	if err != nil {
		return Value{}, err
	}
	for i, v := range l.elements() {
		if w.all[i], err = f(i, v); err != nil {
			return Value{}, err
		}
		w.bytes += weight(w.all[i])
		if err := w.holds(c, w.all[i]); err != nil {
			return Value{}, err
		}
	}
	return Value{Resource: w}, nil
}

// eachIn returns an optional of f's results for the components of o.
func (c call) eachIn(o *optional, f func(i int, v Value) (Value, error)) (Value, error) {
	e := make(dataset.Element, len(o.e))
	for i, v := range o.e {
		w, err := f(i, Value(v))
		if err != nil {
			return Value{}, err
		}
		e[i] = dataset.Value(w)
	}
	c.out = make([]Value, 1)
	err := c.setOptional(e)
	return c.out[0], err
}
