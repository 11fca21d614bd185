package infer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/tensor"
)

// errUnknown says that too little is known about the inputs.
var errUnknown = errors.New("not known")

// site is the node that a rule works on.
type site struct {
	n  *graph.Node
	in []Value
}

// shape returns the sizes of input i.
func (s *site) shape(i int) ([]int, error) {
	if i < 0 || i >= len(s.in) {
		return nil, fmt.Errorf("expected an input %d", i)
	}
	if !s.in[i].Known {
		return nil, errUnknown
	}
	return s.in[i].Shape, nil
}

// rank returns the sizes of input i, which must have that rank.
func (s *site) rank(i, rank int) ([]int, error) {
	x, err := s.shape(i)
	if err == nil && len(x) != rank {
		err = fmt.Errorf("input %d: expected rank %d, got shape %v", i, rank, x)
	}
	return x, err
}

// ints returns the values of integer input i.
func (s *site) ints(i int) ([]int, error) {
	if i < 0 || i >= len(s.in) {
		return nil, fmt.Errorf("expected an input %d", i)
	}
	if s.in[i].T == nil {
		return nil, errUnknown
	}
	return convert.Ints(s.in[i].T)
}

// vector returns the values of integer input i, which must be of rank 1.
func (s *site) vector(i int) ([]int, error) {
	v, err := s.ints(i)
	if err == nil && len(s.in[i].T.Shape) != 1 {
		err = fmt.Errorf("input %d: expected a vector, got shape %v", i, s.in[i].T.Shape)
	}
	return v, err
}

// scalar returns the value of integer input i, which has one element.
func (s *site) scalar(i int) (int, error) {
	v, err := s.ints(i)
	if err == nil && len(v) != 1 {
		err = fmt.Errorf("input %d: expected one number, got %v", i, v)
	}
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// axis resolves an axis of a tensor of the given rank, which may be negative.
func axis(a, rank int) (int, error) {
	if a < -rank || a >= rank {
		return 0, fmt.Errorf("axis %d: expected -%d <= axis < %d", a, rank, rank)
	}
	return (a + rank) % rank, nil
}

// axisAt returns the axis that input i gives.
func (s *site) axisAt(i, rank int) (int, error) {
	a, err := s.scalar(i)
	if err != nil {
		return 0, err
	}
	return axis(a, rank)
}

// one returns a single output of known sizes.
func one(sizes ...int) ([]Value, error) { return []Value{{Known: true, Shape: sizes}}, nil }

// intValue returns a known value for output 0: integers of the node's type.
func (s *site) intValue(vals []int, shape ...int) ([]Value, error) {
	d := tensor.Int32
	if len(s.n.Outputs) > 0 {
		d = s.n.Outputs[0].DType
	}
	t, err := intTensor(d, vals, shape...)
	if err != nil {
		return nil, err
	}
	return []Value{Of(t)}, nil
}

func intTensor(d tensor.DType, vals []int, shape ...int) (*tensor.Tensor, error) {
	t := tensor.New(d, shape...)
	switch d {
	case tensor.Int32:
		for i, v := range vals {
			if int(int32(v)) != v {
				return nil, fmt.Errorf("%d does not fit int32", v)
			}
			tensor.Values[int32](t)[i] = int32(v)
		}
	case tensor.Int64:
		for i, v := range vals {
			tensor.Values[int64](t)[i] = int64(v)
		}
	default:
		return nil, fmt.Errorf("expected int32 or int64, got %v", d)
	}
	return t, nil
}

// broadcast returns the shape that a and b broadcast to.
func broadcast(a, b []int) ([]int, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	off := len(a) - len(b)
	for i, d := range b {
		switch e := a[off+i]; {
		case d == e || d == 1:
		case e == 1:
			out[off+i] = d
		default:
			return nil, fmt.Errorf("shapes %v and %v do not fit together", a, b)
		}
	}
	return out, nil
}
