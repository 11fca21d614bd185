package dataset

import (
	"context"
	"fmt"
	"io"

	"github.com/goestimator/goestimator/tensor"
)

// source is a Dataset of n elements, made by index.
type source struct {
	n  int64
	at func(i int64) (Element, error)
}

func (s *source) Cardinality() int64 { return s.n }

func (s *source) Iterator(*Pass) (Iterator, error) {
	i := int64(0)
	return iteratorFunc(func(ctx context.Context) (Element, error) {
		if s.n >= 0 && i >= s.n {
			return nil, io.EOF
		}
		if err := ctx.Err(); err != nil { // skipping asks for many elements
			return nil, err
		}
		i++
		return s.at(i - 1)
	}), nil
}

// Tensors is the Dataset of one element.
func Tensors(e Element) Dataset {
	return &source{1, func(int64) (Element, error) { return e, nil }}
}

// Rows is the Dataset of n elements; at makes element i.
func Rows(n int64, at func(i int64) (Element, error)) Dataset { return &source{n, at} }

// Slices is the Dataset of the rows of tensors.
func Slices(e Element) (Dataset, error) {
	n, err := commonRows(e)
	if err != nil {
		return nil, err
	}
	return &source{int64(n), func(i int64) (Element, error) { return row(e, int(i)), nil }}, nil
}

// Array is a value other than a tensor that has rows, such as a vector of ragged tensors.
type Array interface {
	// Rows returns the number of rows.
	Rows() int
	// Row returns row i.
	Row(i int) Value
}

// rows returns the number of rows of a component; false if it has none.
func (v Value) rows() (n int, ok bool) {
	if a, ok := v.Resource.(Array); ok {
		return a.Rows(), true
	}
	if v.T == nil || len(v.T.Shape) == 0 {
		return 0, false
	}
	return v.T.Shape[0], true
}

// commonRows returns the number of rows that all components have.
func commonRows(e Element) (int, error) {
	if len(e) == 0 {
		return 0, fmt.Errorf("expected a component")
	}
	first, _ := e[0].rows()
	for i, v := range e {
		n, ok := v.rows()
		switch {
		case !ok:
			return 0, fmt.Errorf("component %d: expected a tensor of at least one dimension: scalars have no slices", i)
		case n != first:
			return 0, fmt.Errorf("component %d has %d slices, component 0 has %d: expected as many", i, n, first)
		}
	}
	return first, nil
}

// row returns row i of each component.
func row(e Element, i int) Element {
	out := make(Element, len(e))
	for k, v := range e {
		if a, ok := v.Resource.(Array); ok {
			out[k] = a.Row(i)
			continue
		}
		out[k].T = v.T.Row(i)
	}
	return out
}

// Range is the Dataset of the integers from start to stop, exclusive.
func Range(start, stop, step int64, d tensor.DType) (Dataset, error) {
	if step == 0 {
		return nil, fmt.Errorf("step must be a non-zero integer.")
	}
	value, err := integerOf(d)
	if err != nil {
		return nil, err
	}
	return &source{distance(start, stop, step), func(i int64) (Element, error) {
		return Element{{T: value(start + i*step)}}, nil
	}}, nil
}

// distance returns the number of steps from start to stop.
func distance(start, stop, step int64) int64 {
	if step > 0 && stop <= start || step < 0 && stop >= start {
		return 0
	}
	way, width := uint64(stop)-uint64(start), uint64(step)
	if step < 0 {
		way, width = -way, -width
	}
	return int64(min((way-1)/width+1, 1<<63-1))
}

// integerOf returns a function that makes an integer a scalar of that type.
func integerOf(d tensor.DType) (func(v int64) *tensor.Tensor, error) {
	switch d {
	case tensor.Int64:
		return func(v int64) *tensor.Tensor { return tensor.Scalar(v) }, nil
	case tensor.Int32:
		return func(v int64) *tensor.Tensor { return tensor.Scalar(int32(v)) }, nil
	case tensor.Uint64:
		return func(v int64) *tensor.Tensor { return tensor.Scalar(uint64(v)) }, nil
	case tensor.Uint32:
		return func(v int64) *tensor.Tensor { return tensor.Scalar(uint32(v)) }, nil
	case tensor.Int16:
		return func(v int64) *tensor.Tensor { return tensor.Scalar(int16(v)) }, nil
	case tensor.Uint16:
		return func(v int64) *tensor.Tensor { return tensor.Scalar(uint16(v)) }, nil
	case tensor.Int8:
		return func(v int64) *tensor.Tensor { return tensor.Scalar(int8(v)) }, nil
	case tensor.Uint8:
		return func(v int64) *tensor.Tensor { return tensor.Scalar(uint8(v)) }, nil
	case tensor.Float32:
		return func(v int64) *tensor.Tensor { return tensor.Scalar(float32(v)) }, nil
	case tensor.Float64:
		return func(v int64) *tensor.Tensor { return tensor.Scalar(float64(v)) }, nil
	}
	return nil, fmt.Errorf("expected a type of numbers, got %v", d)
}
