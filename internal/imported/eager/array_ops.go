package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// arrayOps work on TensorArrays, in which loops of TensorFlow 1 collect their results. A flow orders them.
var arrayOps = map[*ops.Def]maker{
	ops.TensorArrayV3: makeArray, ops.TensorArrayGradV3: gradArray(false), ops.TensorArrayGradWithShape: gradArray(true),
	ops.TensorArrayWriteV3: plain(onArray(writeArray)), ops.TensorArrayReadV3: plain(onArray(readArray)),
	ops.TensorArrayGatherV3: gatherArray, ops.TensorArrayScatterV3: plain(onArray(scatterArray)),
	ops.TensorArrayConcatV3: plain(onArray(concatArray)), ops.TensorArraySplitV3: plain(onArray(splitArray)),
	ops.TensorArraySizeV3: plain(onArray(func(a *array, c call) error { return c.scalarInt(0, tensor.Int32, len(a.elements)) })),
	ops.TensorArrayCloseV3: plain(onArray(func(a *array, _ call) error {
		a.closed, a.elements = true, nil
		return nil
	})),
}

// elementShape reads an attribute with the shape of elements: nil is any rank.
func (s *site) elementShape(attr string) []int {
	shape, ok := s.node.Attrs[attr].(graph.Shape)
	if !ok || shape.UnknownRank {
		return nil
	}
	return s.componentShape(shape, true)
}

func makeArray(s *site) (kernel, error) {
	proto := &array{name: s.str("tensor_array_name", ""), dtype: s.dtype("dtype", tensor.Invalid), shape: s.elementShape("element_shape"),
		grows: s.boolean("dynamic_size", false), clears: s.boolean("clear_after_read", true), identical: s.boolean("identical_element_shapes", false)}
	if proto.name == "" {
		proto.name = s.node.Name
	}
	if proto.dtype != tensor.String && proto.dtype.Size() == 0 {
		return nil, fmt.Errorf("arrays of %v %w", proto.dtype, ErrUnsupported)
	}
	return func(c call) error {
		n, err := integer("size", c.t(0))
		if err != nil {
			return err
		}
		if n < 0 {
			return fmt.Errorf("Size should be >= 0.")
		}
		if err := c.room(n, listHeader+tensorHeader); err != nil {
			return err
		}
		c.out[0].Resource = &array{name: proto.name, dtype: proto.dtype, shape: proto.shape, grows: proto.grows, clears: proto.clears, identical: proto.identical,
			elements: make([]arrayElement, n)}
		c.set(1, tensor.Scalar(float32(0)))
		return nil
	}, nil
}

// onArray returns a kernel whose input 0 is an open array. It holds the array's mutex.
func onArray(f func(a *array, c call) error) kernel {
	return func(c call) error {
		a, ok := c.in[0].Resource.(*array)
		if !ok {
			return fmt.Errorf("expected a TensorArray, got %T", c.in[0].Resource)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if err := a.check(); err != nil {
			return err
		}
		return f(a, c)
	}
}

// gradArray finds the array of gradients; with wider, its elements have further leading dimensions.
func gradArray(wider bool) maker {
	return func(s *site) (kernel, error) {
		source := s.str("source", "")
		return func(c call) error {
			a, ok := c.in[0].Resource.(*array)
			if !ok {
				return fmt.Errorf("expected a TensorArray, got %T", c.in[0].Resource)
			}
			var front []int
			if wider {
				var err error
				if front, err = c.vector("shape_to_prepend", c.t(2)); err != nil {
					return err
				}
				if _, err := elements(front); err != nil {
					return err
				}
			}
			g, err := a.gradient(c, source, front)
			if err != nil {
				return err
			}
			c.out[0].Resource = g
			c.set(1, c.t(1))
			return nil
		}, nil
	}
}

func writeArray(a *array, c call) error {
	i, err := integer("index", c.t(1))
	if err != nil {
		return err
	}
	c.set(0, c.t(3))
	return a.write(c, i, c.t(2))
}

func readArray(a *array, c call) error {
	i, err := integer("index", c.t(1))
	if err != nil {
		return err
	}
	t, err := a.value(c, i)
	if err == nil {
		c.set(0, t)
	}
	return err
}

// gatherArray stacks elements.
func gatherArray(s *site) (kernel, error) {
	asked := s.elementShape("element_shape")
	return onArray(func(a *array, c call) error {
		indices, err := c.vector("indices", c.t(1))
		if err != nil {
			return err
		}
		shape, err := merged(a.shape, asked)
		if err != nil {
			return err
		}
		if len(indices) == 0 {
			if !defined(shape) {
				return fmt.Errorf("TensorArray has size zero, but element shape %v is not fully defined. Currently only static shapes are supported when packing zero-size TensorArrays.", shape)
			}
			_, err := c.output(0, a.dtype, slices.Concat([]int{0}, shape)...)
			return err
		}
		all := make([]*tensor.Tensor, len(indices))
		for k, i := range indices {
			if all[k], err = a.value(c, i); err != nil {
				return err
			}
			if !slices.Equal(all[k].Shape, all[0].Shape) {
				return fmt.Errorf("TensorArray has inconsistent shapes.  Index 0 has shape: %v but index %d has shape: %v", all[0].Shape, k, all[k].Shape)
			}
		}
		out, err := c.output(0, a.dtype, slices.Concat([]int{len(all)}, all[0].Shape)...)
		if err != nil {
			return err
		}
		for k, t := range all {
			copyCells(out, k*t.Len(), t, 0, t.Len())
		}
		return nil
	}), nil
}

func scatterArray(a *array, c call) error {
	indices, err := c.vector("indices", c.t(1))
	if err != nil {
		return err
	}
	rows, err := c.unstacked(c.t(2))
	if err != nil {
		return err
	}
	if len(rows) != len(indices) {
		return fmt.Errorf("Expected len(indices) == values.shape[0], but saw: %d vs. %d", len(indices), len(rows))
	}
	for k, i := range indices {
		if err := a.write(c, i, rows[k]); err != nil {
			return err
		}
	}
	c.set(0, c.t(3))
	return nil
}

// concatArray joins all elements along their first axis, and returns their sizes there.
func concatArray(a *array, c call) error {
	all := make([]Value, len(a.elements))
	for i := range a.elements {
		t, err := a.value(c, i)
		if err != nil {
			return err
		}
		all[i] = Value{T: t}
	}
	return c.joined(a.dtype, a.shape, all)
}

// splitArray writes parts of a tensor, whose sizes along the first axis are given.
func splitArray(a *array, c call) error {
	t := c.t(1)
	lengths, err := c.vector("lengths", c.t(2))
	if err != nil {
		return err
	}
	if len(t.Shape) == 0 {
		return fmt.Errorf("Expected value to be at least a vector, but received shape: []")
	}
	from, width := 0, product(t.Shape[1:])
	for i, n := range lengths {
		if n < 0 || n > t.Shape[0]-from {
			return fmt.Errorf("Expected sum of lengths to be equal to values.shape[0] = %d, but sum of lengths is larger, or a length is negative: %v", t.Shape[0], lengths)
		}
		part := rows(t, append([]int{n}, t.Shape[1:]...), from*width, n*width)
		if err := a.write(c, i, part); err != nil {
			return err
		}
		from += n
	}
	if from != t.Shape[0] || len(a.elements) != len(lengths) {
		return fmt.Errorf("Expected %d lengths whose sum is %d, got %v", len(a.elements), t.Shape[0], lengths)
	}
	c.set(0, c.t(3))
	return nil
}
