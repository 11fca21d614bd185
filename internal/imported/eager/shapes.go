package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// shapeOps read and change shapes without moving elements.
var shapeOps = map[*ops.Def]maker{
	ops.Shape:         shapeN,
	ops.ShapeN:        shapeN,
	ops.VariableShape: variableShape,
	ops.Size:          size,
	ops.Rank: plain(func(c call) error {
		return c.scalarInt(0, tensor.Int32, len(c.t(0).Shape))
	}),
	ops.Reshape:       plain(reshape),
	ops.Squeeze:       squeeze,
	ops.ExpandDims:    plain(expandDims),
	ops.EnsureShape:   ensureShape,
	ops.BroadcastArgs: plain(broadcastArgs),
	ops.Bitcast:       bitcast,
}

func shapeN(s *site) (kernel, error) {
	d := s.dtype("out_type", tensor.Int32)
	if s.node.Op == "ShapeN" {
		s.outputs = max(s.count("N", 0, 1<<16), len(s.node.Inputs))
	}
	return func(c call) error {
		if len(c.in) != len(c.out) {
			return fmt.Errorf("expected %d inputs, got %d", len(c.out), len(c.in))
		}
		for i := range c.in {
			if err := c.outputInts(i, d, c.t(i).Shape, len(c.t(i).Shape)); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func variableShape(s *site) (kernel, error) {
	d := s.dtype("out_type", tensor.Int32)
	return func(c call) error {
		t, err := load(c.in[0])
		if err != nil {
			return err
		}
		return c.outputInts(0, d, t.Shape, len(t.Shape))
	}, nil
}

func size(s *site) (kernel, error) {
	d := s.dtype("out_type", tensor.Int32)
	return func(c call) error { return c.scalarInt(0, d, c.t(0).Len()) }, nil
}

func reshape(c call) error {
	shape, err := c.integers("shape", c.t(1))
	if err != nil {
		return err
	}
	if len(c.t(1).Shape) > 1 {
		return rank("shape", c.t(1), 1)
	}
	if shape, err = graph.Reshape(c.t(0).Shape, shape); err != nil {
		return err
	}
	if _, err := elements(shape); err != nil {
		return err
	}
	c.set(0, reshaped(c.t(0), shape...))
	return nil
}

func squeeze(s *site) (kernel, error) {
	dims := list[int64](s, "squeeze_dims")
	if len(dims) == 0 {
		dims = list[int64](s, "axis")
	}
	return func(c call) error {
		in := c.t(0).Shape
		drop := make([]bool, len(in))
		for _, d := range dims {
			k, err := axis("squeeze_dims", int(d), len(in))
			if err != nil {
				return err
			}
			if in[k] != 1 {
				return fmt.Errorf("cannot squeeze dimension %d of %v: expected size 1", k, in)
			}
			drop[k] = true
		}
		shape := make([]int, 0, len(in))
		for i, d := range in {
			if !drop[i] && (len(dims) > 0 || d != 1) {
				shape = append(shape, d)
			}
		}
		c.set(0, reshaped(c.t(0), shape...))
		return nil
	}, nil
}

func expandDims(c call) error {
	in := c.t(0).Shape
	k, err := axisOf("axis", c.t(1), len(in)+1)
	if err != nil {
		return err
	}
	if len(in) >= maxRank {
		return fmt.Errorf("shape %v: expected at most %d dimensions", in, maxRank-1)
	}
	c.set(0, reshaped(c.t(0), slices.Insert(slices.Clone(in), k, 1)...))
	return nil
}

func ensureShape(s *site) (kernel, error) {
	expected, ok := s.node.Attrs["shape"].(graph.Shape)
	if !ok {
		return nil, fmt.Errorf("attribute shape: expected a shape, got %T", s.node.Attrs["shape"])
	}
	return func(c call) error {
		got := c.t(0).Shape
		fits := expected.UnknownRank || len(got) == len(expected.Dims)
		for i := 0; fits && i < len(expected.Dims); i++ {
			if d := expected.Dims[i]; d.Static() {
				fits = d.Const == got[i]
			}
		}
		if !fits {
			return fmt.Errorf("shape of the tensor %v is not compatible with the expected shape %v", got, expected)
		}
		return pass(c)
	}, nil
}

// broadcastShape returns the shape that two shapes broadcast to.
func broadcastShape(a, b []int) ([]int, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	skip := len(a) - len(b)
	for i, d := range b {
		switch k := skip + i; {
		case a[k] == d || d == 1:
		case a[k] == 1:
			out[k] = d
		default:
			return nil, fmt.Errorf("incompatible shapes: %v vs. %v", a, b)
		}
	}
	return out, nil
}

func broadcastArgs(c call) error {
	a, err := c.vector("s0", c.t(0))
	if err != nil {
		return err
	}
	b, err := c.vector("s1", c.t(1))
	if err != nil {
		return err
	}
	out, err := broadcastShape(a, b)
	if err != nil {
		return err
	}
	return c.outputInts(0, c.t(0).DType, out, len(out))
}

func bitcast(s *site) (kernel, error) {
	to := s.dtype("type", tensor.Invalid)
	return func(c call) error {
		t := c.t(0)
		from, size := t.DType.Size(), to.Size()
		shape := slices.Clone(t.Shape)
		switch {
		case from == 0 || size == 0 || t.DType == tensor.Bool || to == tensor.Bool: // TensorFlow's Bitcast has no booleans either
			return fmt.Errorf("bitcast of %v to %v %w", t.DType, to, ErrUnsupported)
		case from > size:
			shape = append(shape, from/size)
		case from < size:
			last := len(shape) - 1
			if last < 0 || shape[last] != size/from {
				return fmt.Errorf("cannot bitcast %v of shape %v to %v: expected a last dimension of %d", t.DType, t.Shape, to, size/from)
			}
			shape = shape[:last]
		}
		c.set(0, &tensor.Tensor{DType: to, Shape: shape, Bytes: t.Bytes})
		return nil
	}, nil
}
