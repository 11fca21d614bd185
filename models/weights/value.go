package weights

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/tensor"
)

// Target is a variable that takes a value.
type Target struct {
	Name  string
	DType tensor.DType
	Shape []int
}

// Value reads the value of a variable: the tensor that s names, with its dimensions and
// gates in the variable's order and its elements in the variable's type. It converts
// between floating-point types, and from integers to wider integers. A tensor with another
// shape is refused before it is read. The error wraps ErrNotFound if a tensor is missing.
func (f *File) Value(s Source, to Target) (*tensor.Tensor, error) {
	if s.Layout != "" {
		return f.arranged(s, to)
	}
	return f.part(s.Name, to, s.Transpose, to.Shape)
}

// part reads a tensor in the variable's element type. It transposes the tensor by perm,
// if that is not empty; the result must have the given shape.
func (f *File) part(name string, to Target, perm, shape []int) (*tensor.Tensor, error) {
	info, ok := f.Lookup(name)
	if !ok {
		return nil, fmt.Errorf("%s: tensor %q: %w", f.path, name, ErrNotFound)
	}
	got := info.Shape
	if len(perm) > 0 {
		if err := tensorfile.CheckPermutation(perm, len(got)); err != nil {
			return nil, fmt.Errorf("tensor %q %v%v for variable %s: %w", name, info.DType, got, to.Name, err)
		}
		got = tensorfile.Permuted(got, perm)
	}
	if !slices.Equal(got, shape) || !convertible(info.DType, to.DType) {
		return nil, mismatch(name, to, got, info)
	}
	t, err := f.Tensor(name)
	if err != nil {
		return nil, err
	}
	if t, err = cast(t, to.DType); err != nil || len(perm) == 0 {
		return t, err
	}
	return tensorfile.Transpose(t, perm...)
}

// mismatch returns the error for a tensor without the variable's shape or type.
func mismatch(name string, to Target, got []int, info Info) error {
	order := ""
	if !slices.Equal(got, info.Shape) {
		order = fmt.Sprintf(", which the rule makes %v", got)
	}
	return fmt.Errorf("variable %s: expected %v%v, got %v%v of the tensor %s%s", to.Name, to.DType, to.Shape, info.DType, info.Shape, name, order)
}

// convertible reports whether values of a type can be converted to another.
func convertible(from, to tensor.DType) bool {
	switch {
	case from == to:
		return true
	case from.Float():
		return to.Float()
	}
	wider := from.Size() < to.Size()
	return signed(from) && signed(to) && wider || unsigned(from) && (signed(to) || unsigned(to)) && wider
}

func signed(d tensor.DType) bool {
	return d == tensor.Int8 || d == tensor.Int16 || d == tensor.Int32 || d == tensor.Int64
}

func unsigned(d tensor.DType) bool {
	return d == tensor.Uint8 || d == tensor.Uint16 || d == tensor.Uint32 || d == tensor.Uint64
}

// cast changes the element type; 16-bit types go through float32.
func cast(t *tensor.Tensor, to tensor.DType) (*tensor.Tensor, error) {
	for t.DType != to {
		next := to
		f := convert.Between(t.DType, to)
		if f == nil {
			next = tensor.Float32
			f = convert.Between(t.DType, next)
		}
		if f == nil || t.DType == next {
			return nil, fmt.Errorf("no conversion from %v to %v", t.DType, to)
		}
		out := tensor.New(next, t.Shape...)
		f(out.Bytes, t.Bytes)
		t = out
	}
	return t, nil
}
