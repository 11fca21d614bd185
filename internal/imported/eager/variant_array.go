package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/tensor"
)

// variantArray is a tensor of variants, such as lists and ragged tensors, with rank 1 or more.
type variantArray struct {
	shape []int
	all   []Value
	depth int // maximum nesting of lists and optionals
}

// newVariantArray returns an array of n variants without values.
func newVariantArray(c call, n int) (*variantArray, error) {
	if err := c.room(n, listHeader); err != nil {
		return nil, fmt.Errorf("%d variants: %w", n, err)
	}
	return &variantArray{shape: []int{n}, all: make([]Value, n)}, nil
}

// variants returns the shape and elements of an input, which is one variant or an array of variants.
func (c call) variants(i int) (shape []int, all []Value) {
	if a, ok := c.in[i].Resource.(*variantArray); ok {
		return a.shape, a.all
	}
	return nil, c.in[i : i+1]
}

// listFromVariants outputs a list of the variants in an array.
func listFromVariants(c call, shape []int) error {
	a, ok := c.in[0].Resource.(*variantArray)
	if !ok || len(a.shape) != 1 {
		return fmt.Errorf("Tensor must be at least a vector, but saw a variant")
	}
	l, err := newList(c, tensor.Variant, shape, len(a.all))
	if err != nil {
		return err
	}
	for i, v := range a.all {
		if err := l.fits(v); err != nil {
			return err
		}
		l.all[i] = v
		l.bytes += weight(v)
		if err := l.holds(c, v); err != nil {
			return err
		}
	}
	c.setList(0, l)
	return nil
}

// stackedVariants sets output 0 to the variants stacked in an array.
func (c call) stackedVariants(picked []Value) error {
	a, err := newVariantArray(c, len(picked))
	if err != nil {
		return err
	}
	for i, v := range picked {
		if v == (Value{}) {
			return fmt.Errorf("Trying to stack element %d of a list of variants, which was not set.", i)
		}
		if _, nested := v.Resource.(*variantArray); nested {
			return fmt.Errorf("arrays of arrays of variants %w", ErrUnsupported)
		}
		a.all[i] = v
		a.depth = max(a.depth, depth(v))
	}
	c.out[0] = Value{Resource: a}
	return nil
}

// Rows returns the number of variants.
func (a *variantArray) Rows() int { return len(a.all) }

// Row returns variant i.
func (a *variantArray) Row(i int) dataset.Value { return dataset.Value(a.all[i]) }

// MemoryBytes returns the bytes that the variants take.
func (a *variantArray) MemoryBytes() int {
	n := tensorHeader
	for _, v := range a.all {
		n += listHeader + weight(v)
	}
	return n
}

// Stack makes a vector of ragged tensors, as in a batch.
func (r *raggedVariant) Stack(all []any) (any, error) {
	a := &variantArray{shape: []int{len(all)}, all: make([]Value, len(all))}
	for i, v := range all {
		if _, ok := v.(*raggedVariant); !ok {
			return nil, fmt.Errorf("expected ragged tensors, element %d of the batch is none", i)
		}
		a.all[i].Resource = v
	}
	return a, nil
}
