package eager

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// generateOps make tensors from a shape or from conditions.
var generateOps = map[*ops.Def]maker{
	ops.Fill:       plain(fill),
	ops.ZerosLike:  plain(zerosLike),
	ops.Timestamp:  plain(timestamp),
	ops.OnesLike:   plain(like(1)),
	ops.Empty:      empty,
	ops.Range:      rangeOf,
	ops.LinSpace:   plain(floats(linSpace[float32], linSpace[float64]).on(0)),
	ops.OneHot:     oneHot,
	ops.Where:      plain(where),
	ops.Select:     plain(selectV1),
	ops.SelectV2:   plain(selectV2),
	ops.MatrixDiag: plain(matrixDiag),
}

func fill(c call) error {
	shape, err := c.integers("dims", c.t(0))
	if err != nil {
		return err
	}
	if v := c.t(1); v.Len() != 1 || len(v.Shape) > 1 || len(c.t(0).Shape) > 1 {
		return fmt.Errorf("expected dims as a vector and the value as a scalar, got shapes %v and %v", c.t(0).Shape, v.Shape)
	}
	out, err := c.output(0, c.t(1).DType, shape...)
	if err != nil {
		return err
	}
	fillCells(out, c.t(1), 0)
	return nil
}

func empty(s *site) (kernel, error) {
	d := s.dtype("dtype", tensor.Float32)
	return func(c call) error {
		shape, err := c.vector("shape", c.t(0))
		if err != nil {
			return err
		}
		_, err = c.output(0, d, shape...)
		return err
	}, nil
}

// zerosLike returns zeros of the shape and type of its input.
func zerosLike(c call) (err error) {
	c.out[0], err = c.zeros(c.in[0])
	return err
}

// like returns a kernel that fills the shape and type of its input with v.
func like(v uint8) kernel {
	return func(c call) error {
		t := c.t(0)
		out, err := c.output(0, t.DType, t.Shape...)
		if err != nil || v == 0 {
			return err
		}
		one := tensor.New(t.DType)
		if t.DType == tensor.Bool {
			tensor.Values[bool](one)[0] = true
		} else if err := recast(one, tensor.Scalar(v)); err != nil {
			return err
		}
		fillCells(out, one, 0)
		return nil
	}
}

func rangeOf(s *site) (kernel, error) {
	wide := s.boolean(ops.Divides, false)
	return numbers(ranged[float32](wide), ranged[float64](wide), ranged[int8](wide), ranged[int16](wide), ranged[int32](wide), ranged[int64](wide),
		nil, ranged[uint16](wide), ranged[uint32](wide), ranged[uint64](wide)).on(0), nil
}

func ranged[T number](wide bool) kernel {
	return func(c call) error { return makeRange[T](c, wide) }
}

// stepCount is how many steps there are from start up to a limit. The quotient of float32 is one of that type, as in TensorFlow, unless it is to be
// wide.
func stepCount[T number](start, limit, delta T, wide bool) float64 {
	one := T(1)
	switch {
	case one/2 != 0 && wide:
		return math.Ceil(math.Abs(float64(limit-start) / float64(delta)))
	case one/2 != 0:
		return math.Ceil(math.Abs(float64((limit - start) / delta)))
	}
	span, step := uint64(limit)-uint64(start), uint64(delta)
	if delta < 0 {
		span, step = -span, -step
	}
	n := span / step
	if span%step != 0 {
		n++
	}
	return float64(n)
}

func makeRange[T number](c call, wide bool) error {
	if err := sameType(c.in); err != nil {
		return err
	}
	var v [3]T
	for i := range v {
		if c.t(i).Len() != 1 {
			return fmt.Errorf("input %d: expected a scalar, got shape %v", i, c.t(i).Shape)
		}
		v[i] = tensor.Values[T](c.t(i))[0]
	}
	start, limit, delta := v[0], v[1], v[2]
	switch {
	case delta == 0:
		return fmt.Errorf("requires delta != 0: %v", delta)
	case delta > 0 && start > limit:
		return fmt.Errorf("requires start <= limit when delta > 0: %v/%v", start, limit)
	case delta < 0 && start < limit:
		return fmt.Errorf("requires start >= limit when delta < 0: %v/%v", start, limit)
	}
	size := stepCount(start, limit, delta, wide)
	if !(size <= 1<<40) {
		return fmt.Errorf("%w: a range of %v elements", ErrLimit, size)
	}
	out, err := outputOf[T](c, 0, int(size))
	x := start
	for i := range out {
		out[i] = x
		x += delta
	}
	return err
}

func linSpace[T float](c call) error {
	n, err := integer("num", c.t(2))
	if err != nil {
		return err
	}
	if len(c.t(0).Shape) != 0 || len(c.t(1).Shape) != 0 || c.t(1).DType != c.t(0).DType {
		return fmt.Errorf("expected scalars of one type, got shapes %v and %v", c.t(0).Shape, c.t(1).Shape)
	}
	if n <= 0 {
		return fmt.Errorf("requires num > 0: %d", n)
	}
	lo, hi := tensor.Values[T](c.t(0))[0], tensor.Values[T](c.t(1))[0]
	out, err := outputOf[T](c, 0, n)
	if err != nil {
		return err
	}
	out[0] = lo
	for i := 1; i < n; i++ {
		out[i] = lo + (hi-lo)/T(n-1)*T(i)
	}
	if n > 1 {
		out[n-1] = hi
	}
	return nil
}

func oneHot(s *site) (kernel, error) {
	at := s.node.Int("axis", -1)
	return func(c call) error {
		idx := c.t(0)
		depth, err := integer("depth", c.t(1))
		if err != nil {
			return err
		}
		if depth < 0 {
			return fmt.Errorf("depth must be non-negative, got: %d", depth)
		}
		on, off := c.t(2), c.t(3)
		if len(on.Shape) != 0 || len(off.Shape) != 0 || on.DType != off.DType {
			return fmt.Errorf("on_value and off_value: expected scalars of one type")
		}
		k := at
		if k == -1 {
			k = len(idx.Shape)
		}
		if k < 0 || k > len(idx.Shape) {
			return fmt.Errorf("expected axis to be -1 or between 0 and %d, but received: %d", len(idx.Shape), at)
		}
		ids := tensor.New(tensor.Int64, idx.Shape...)
		if err := recast(ids, idx); err != nil {
			return err
		}
		out, err := c.output(0, on.DType, slices.Insert(slices.Clone(idx.Shape), k, depth)...)
		if err != nil {
			return err
		}
		fillCells(out, off, 0)
		inner := product(idx.Shape[k:])
		for i, v := range tensor.Values[int64](ids) {
			if v >= 0 && v < int64(depth) {
				copyCells(out, (i/inner*depth+int(v))*inner+i%inner, on, 0, 1)
			}
		}
		return nil
	}, nil
}

// truth returns which elements are nonzero.
func truth(t *tensor.Tensor) ([]bool, error) {
	if t.DType == tensor.Bool {
		return tensor.Values[bool](t), nil
	}
	if t.DType == tensor.String {
		return nil, fmt.Errorf("type %v %w", t.DType, ErrUnsupported)
	}
	b := tensor.New(tensor.Bool, t.Shape...)
	err := recast(b, t)
	return tensor.Values[bool](b), err
}

func where(c call) error {
	yes, err := truth(c.t(0))
	if err != nil {
		return err
	}
	n := 0
	for _, y := range yes {
		if y {
			n++
		}
	}
	r := len(c.t(0).Shape)
	if r == 0 {
		return fmt.Errorf("unhandled input dimensions: 0")
	}
	dst, err := outputOf[int64](c, 0, n, r)
	if err != nil {
		return err
	}
	for i, y := range yes {
		if !y {
			continue
		}
		for k, rest := r-1, i; k >= 0; k-- {
			d := c.t(0).Shape[k]
			dst[k] = int64(rest % d)
			rest /= d
		}
		dst = dst[r:]
	}
	return nil
}

// selectV1 selects elements, or whole rows if the condition is a vector.
func selectV1(c call) error {
	cond, a, b := c.t(0), c.t(1), c.t(2)
	if err := want("condition", cond, tensor.Bool); err != nil {
		return err
	}
	if err := sameType(c.in[1:]); err != nil {
		return err
	}
	n := cond.Len()
	fits := len(cond.Shape) == 0 || slices.Equal(cond.Shape, a.Shape) || len(cond.Shape) == 1 && len(a.Shape) > 0 && a.Shape[0] == n
	if !fits || !slices.Equal(a.Shape, b.Shape) {
		return fmt.Errorf("shapes %v, %v and %v of condition, t and e do not fit", cond.Shape, a.Shape, b.Shape)
	}
	out, err := c.output(0, a.DType, a.Shape...)
	if err != nil || n == 0 {
		return err
	}
	size := out.Len() / n
	for i, y := range tensor.Values[bool](cond) {
		src := b
		if y {
			src = a
		}
		copyCells(out, i*size, src, i*size, size)
	}
	return nil
}

func selectV2(c call) error {
	if err := want("condition", c.t(0), tensor.Bool); err != nil {
		return err
	}
	if err := sameType(c.in[1:]); err != nil {
		return err
	}
	shape, err := broadcastShape(c.t(1).Shape, c.t(2).Shape)
	if err != nil {
		return err
	}
	if shape, err = broadcastShape(c.t(0).Shape, shape); err != nil {
		return err
	}
	out, err := c.output(0, c.t(1).DType, shape...)
	if err != nil {
		return err
	}
	if err := copyBox(shape, out, contiguous(shape), c.t(2), spread(c.t(2).Shape, shape)); err != nil {
		return err
	}
	cond, from := tensor.Values[bool](c.t(0)), [2]stride{spread(c.t(0).Shape, shape), spread(c.t(1).Shape, shape)}
	i := 0
	var walk func(k, ci, ai int)
	walk = func(k, ci, ai int) {
		if k == len(shape) {
			if cond[ci] {
				copyCells(out, i, c.t(1), ai, 1)
			}
			i++
			return
		}
		for j := range shape[k] {
			walk(k+1, ci+j*from[0].steps[k], ai+j*from[1].steps[k])
		}
	}
	if out.Len() > 0 {
		walk(0, 0, 0)
	}
	return nil
}

func matrixDiag(c call) error {
	t := c.t(0)
	if len(t.Shape) == 0 {
		return fmt.Errorf("expected at least a vector")
	}
	n := t.Shape[len(t.Shape)-1]
	out, err := c.output(0, t.DType, append(slices.Clone(t.Shape), n)...)
	if err != nil {
		return err
	}
	for i := range t.Len() {
		copyCells(out, i*n+i%n, t, i, 1)
	}
	return nil
}

// timestamp returns the time in seconds since 1970.
func timestamp(c call) error {
	dst, err := outputOf[float64](c, 0)
	if err == nil {
		dst[0] = float64(time.Now().UnixMicro()) / 1e6
	}
	return err
}
