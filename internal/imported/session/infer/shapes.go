package infer

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// shapeRules are for ops about shapes, and ops that reshape.
var shapeRules = map[*ops.Def]rule{
	ops.Const: constant, ops.Shape: shapeOf, ops.ShapeN: shapesOf, ops.Size: sizeOf, ops.Rank: rankOf, ops.Reshape: reshape, ops.ExpandDims: expand, ops.Squeeze: squeeze,
	ops.Transpose: transpose, ops.Fill: fill, ops.BroadcastTo: broadcastTo, ops.Tile: tile, ops.Range: ranges, ops.OneHot: oneHot,
}

func constant(s *site) ([]Value, error) {
	t, ok := s.n.Attrs["value"].(*tensor.Tensor)
	if !ok {
		return nil, fmt.Errorf("expected a value")
	}
	return []Value{Of(t)}, nil
}

func shapeOf(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	return s.intValue(x, len(x))
}

func shapesOf(s *site) ([]Value, error) {
	out := make([]Value, len(s.in))
	for i, v := range s.in {
		if !v.Known || i >= len(s.n.Outputs) {
			continue
		}
		t, err := intTensor(s.n.Outputs[i].DType, v.Shape, len(v.Shape))
		if err != nil {
			return nil, err
		}
		out[i] = Of(t)
	}
	return out, nil
}

func sizeOf(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	n, err := Elements(x)
	if err != nil {
		return nil, err
	}
	return s.intValue([]int{n})
}

func rankOf(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	return s.intValue([]int{len(x)})
}

func reshape(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	to, err := s.vector(1)
	if err != nil {
		return nil, err
	}
	if to, err = graph.Reshape(x, to); err != nil {
		return nil, err
	}
	return []Value{{Known: true, Shape: to, T: reshaped(s.in[0].T, to)}}, nil
}

// reshaped returns t with another shape, or nil if t is nil.
func reshaped(t *tensor.Tensor, shape []int) *tensor.Tensor {
	if t == nil {
		return nil
	}
	return &tensor.Tensor{DType: t.DType, Shape: shape, Bytes: t.Bytes, Strings: t.Strings}
}

func expand(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	a, err := s.axisAt(1, len(x)+1)
	if err != nil {
		return nil, err
	}
	to := slices.Insert(slices.Clone(x), a, 1)
	return []Value{{Known: true, Shape: to, T: reshaped(s.in[0].T, to)}}, nil
}

func squeeze(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	drop := make([]bool, len(x))
	dims := s.n.Ints("squeeze_dims")
	if dims == nil {
		dims = s.n.Ints("axis")
	}
	for _, d := range dims {
		a, err := axis(int(d), len(x))
		if err != nil {
			return nil, err
		}
		if x[a] != 1 {
			return nil, fmt.Errorf("axis %d of %v: expected size 1", d, x)
		}
		drop[a] = true
	}
	to := []int{}
	for i, d := range x {
		if !drop[i] && (len(dims) > 0 || d != 1) {
			to = append(to, d)
		}
	}
	return []Value{{Known: true, Shape: to, T: reshaped(s.in[0].T, to)}}, nil
}

func transpose(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	perm, err := s.ints(1)
	if err != nil {
		return nil, err
	}
	if len(perm) != len(x) {
		return nil, fmt.Errorf("permutation %v of shape %v", perm, x)
	}
	out, seen := make([]int, len(x)), make([]bool, len(x))
	for i, p := range perm {
		if p, err = axis(p, len(x)); err != nil {
			return nil, err
		}
		if seen[p] {
			return nil, fmt.Errorf("permutation %v names axis %d twice", perm, p)
		}
		out[i], seen[p] = x[p], true
	}
	return one(out...)
}

func fill(s *site) ([]Value, error) {
	v, err := s.ints(0)
	if err != nil {
		return nil, err
	}
	if x := s.in[1]; len(s.in[0].T.Shape) > 1 || x.Known && (len(x.Shape) > 1 || len(x.Shape) == 1 && x.Shape[0] != 1) {
		return nil, fmt.Errorf("expected dims as a vector and the value as a scalar, got shapes %v and %v", s.in[0].T.Shape, x.Shape)
	}
	return one(v...)
}

func broadcastTo(s *site) ([]Value, error) {
	to, err := s.vector(1)
	if err != nil {
		return nil, err
	}
	if x := s.in[0]; x.Known {
		if got, err := broadcast(x.Shape, to); err != nil || !slices.Equal(got, to) {
			return nil, fmt.Errorf("shape %v cannot be broadcast to %v", x.Shape, to)
		}
	}
	return one(to...)
}

func tile(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	m, err := s.ints(1)
	if err != nil {
		return nil, err
	}
	if len(m) != len(x) {
		return nil, fmt.Errorf("multiples %v of shape %v", m, x)
	}
	out := make([]int, len(x))
	for i := range x {
		if m[i] < 0 || m[i] > maxElements || x[i] > maxElements {
			return nil, fmt.Errorf("multiples %v of shape %v", m, x)
		}
		if m[i] > 0 && x[i] > maxElements/m[i] {
			return nil, fmt.Errorf("multiples %v of shape %v: too large", m, x)
		}
		out[i] = x[i] * m[i]
	}
	return one(out...)
}

func ranges(s *site) ([]Value, error) {
	var v [3]int
	for i := range v {
		x, err := s.scalar(i)
		if err != nil {
			return nil, errUnknown // floats too are unknown
		}
		v[i] = x
	}
	start, limit, delta := v[0], v[1], v[2]
	switch {
	case delta == 0 || delta > 0 && start > limit || delta < 0 && start < limit:
		return nil, fmt.Errorf("a range from %d to %d cannot be in steps of %d", start, limit, delta)
	case start == limit:
		return one(0)
	case delta > 0:
		return one((limit-start-1)/delta + 1)
	}
	return one((start-limit-1)/-delta + 1)
}

func oneHot(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	depth, err := s.scalar(1)
	if err != nil {
		return nil, err
	}
	a := s.n.Int("axis", -1)
	if a == -1 {
		a = len(x)
	}
	if a < 0 || a > len(x) || depth < 0 {
		return nil, fmt.Errorf("axis %d and depth %d of indices %v: expected -1 <= axis <= %d and no negative depth", a, depth, x, len(x))
	}
	for i := 2; i < len(s.in); i++ {
		if _, err := s.rank(i, 0); err != nil && err != errUnknown {
			return nil, err
		}
	}
	return one(slices.Insert(slices.Clone(x), a, depth)...)
}
