package eager

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// uniqueOps find distinct values, and positions among sorted values.
var uniqueOps = map[*ops.Def]maker{
	ops.Unique:             unique,
	ops.UniqueV2:           unique,
	ops.UniqueWithCounts:   unique,
	ops.UniqueWithCountsV2: unique,
	ops.ListDiff:           listDiff,
	ops.LowerBound:         bound(true),
	ops.UpperBound:         bound(false),
	ops.Bucketize:          bucketize,
	ops.RowOrder:           rowOrder,
}

// keysOf returns a function that returns element i as a comparable value. Floats
// compare by value, so that -0 is 0, and no NaN equals another.
func keysOf(t *tensor.Tensor) (func(i int) any, error) {
	switch t.DType {
	case tensor.String:
		return func(i int) any { return string(t.Strings[i]) }, nil
	case tensor.Int64:
		v := tensor.Values[int64](t)
		return func(i int) any { return v[i] }, nil
	case tensor.Uint64:
		v := tensor.Values[uint64](t)
		return func(i int) any { return v[i] }, nil
	}
	if t.DType.Size() == 0 || t.DType.Half() || isComplex(t.DType) {
		return nil, fmt.Errorf("type %v %w", t.DType, ErrUnsupported)
	}
	return func(i int) any { return t.Float(i) }, nil
}

func unique(s *site) (kernel, error) {
	d := s.dtype("out_idx", tensor.Int32)
	return func(c call) error {
		t := c.t(0)
		if len(c.in) == 2 {
			axes, err := c.vector("axis", c.t(1))
			if err != nil {
				return err
			}
			if len(axes) > 1 {
				return fmt.Errorf("axis does not support input tensors larger than 1 elements")
			}
			if len(axes) == 1 {
				if axes[0] < -len(t.Shape) || axes[0] >= len(t.Shape) {
					return fmt.Errorf("axis has to be between [0, %d)", len(t.Shape))
				}
				if len(t.Shape) > 1 {
					return uniqueSlices(c, d, (axes[0]+len(t.Shape))%len(t.Shape))
				}
			}
		}
		if len(t.Shape) != 1 {
			return fmt.Errorf("unique expects a 1D vector.")
		}
		if err := c.pay(t.Len() * distinctCost); err != nil {
			return err
		}
		ids, firsts, err := distinct(t)
		if err != nil {
			return err
		}
		out, err := c.output(0, t.DType, len(firsts))
		if err != nil {
			return err
		}
		for j, i := range firsts {
			copyCells(out, j, t, i, 1)
		}
		return c.numbered(d, ids, len(firsts))
	}, nil
}

// numbered sets the outputs after the first: the number of each element's value, and the counts of the n values.
func (c call) numbered(d tensor.DType, ids []int, n int) error {
	if len(c.out) == 3 {
		counts := make([]int, n)
		for _, id := range ids {
			counts[id]++
		}
		if err := c.outputInts(2, d, counts, len(counts)); err != nil {
			return err
		}
	}
	return c.outputInts(1, d, ids, len(ids))
}

// uniqueSlices finds the distinct slices along an axis.
func uniqueSlices(c call, d tensor.DType, axis int) error {
	t := c.t(0)
	before, n, after := product(t.Shape[:axis]), t.Shape[axis], product(t.Shape[axis+1:])
	key, err := keysOf(t)
	if err != nil {
		return err
	}
	if err := c.pay((t.Len() + n) * distinctCost); err != nil {
		return err
	}
	ids := make([]int, n)
	var firsts []int
	seen := map[string][]int{} // slices by the text of their values; different strings may have the same text
	for i := range ids {
		var text []byte
		for b := range before {
			for a := range after {
				text = fmt.Appendf(text, "%v,", key((b*n+i)*after+a))
			}
		}
		id := slices.IndexFunc(seen[string(text)], func(id int) bool { return sameSlice(key, before, n, after, firsts[id], i) })
		if id >= 0 {
			ids[i] = seen[string(text)][id]
			continue
		}
		ids[i] = len(firsts)
		seen[string(text)] = append(seen[string(text)], len(firsts))
		firsts = append(firsts, i)
	}
	shape := slices.Clone(t.Shape)
	shape[axis] = len(firsts)
	out, err := c.output(0, t.DType, shape...)
	if err != nil {
		return err
	}
	for b := range before {
		for j, i := range firsts {
			copyCells(out, (b*len(firsts)+j)*after, t, (b*n+i)*after, after)
		}
	}
	return c.numbered(d, ids, len(firsts))
}

// sameSlice compares the values of slices i and k.
func sameSlice(key func(i int) any, before, n, after, i, k int) bool {
	for b := range before {
		for a := range after {
			if key((b*n+i)*after+a) != key((b*n+k)*after+a) {
				return false
			}
		}
	}
	return true
}

// distinctCost is about the memory per element while values are numbered.
const distinctCost = 48

// distinct numbers the values of a vector in order of first occurrence.
func distinct(t *tensor.Tensor) (ids, firsts []int, err error) {
	switch t.DType {
	case tensor.Int64:
		ids, firsts = distinctInts(tensor.Values[int64](t))
		return ids, firsts, nil
	case tensor.Int32:
		ids, firsts = distinctInts(tensor.Values[int32](t))
		return ids, firsts, nil
	}
	key, err := keysOf(t)
	if err != nil {
		return nil, nil, err
	}
	keys := make([]any, t.Len())
	for i := range keys {
		keys[i] = key(i)
	}
	ids, firsts = distinctOf(keys)
	return ids, firsts, nil
}

func distinctOf[K comparable](keys []K) (ids, firsts []int) {
	ids = make([]int, len(keys))
	seen := make(map[K]int, len(keys))
	for i, k := range keys {
		id, ok := seen[k]
		if !ok {
			id = len(firsts)
			seen[k] = id
			firsts = append(firsts, i)
		}
		ids[i] = id
	}
	return ids, firsts
}

func listDiff(s *site) (kernel, error) {
	d := s.dtype("out_idx", tensor.Int32)
	return func(c call) error {
		if err := sameType(c.in); err != nil {
			return err
		}
		x, y := c.t(0), c.t(1)
		if err := errors.Join(rank("x", x, 1), rank("y", y, 1)); err != nil {
			return err
		}
		keyX, err := keysOf(x)
		if err != nil {
			return err
		}
		keyY, _ := keysOf(y)
		drop := map[any]bool{}
		for i := range y.Len() {
			drop[keyY(i)] = true
		}
		var keep []int
		for i := range x.Len() {
			if !drop[keyX(i)] {
				keep = append(keep, i)
			}
		}
		out, err := c.output(0, x.DType, len(keep))
		if err != nil {
			return err
		}
		for j, i := range keep {
			copyCells(out, j, x, i, 1)
		}
		return c.outputInts(1, d, keep, len(keep))
	}, nil
}

// bound returns the maker of LowerBound or UpperBound.
func bound(lower bool) maker {
	return func(s *site) (kernel, error) {
		d := s.dtype("out_type", tensor.Int32)
		return numbers(boundOf[float32](d, lower), boundOf[float64](d, lower), boundOf[int8](d, lower), boundOf[int16](d, lower), boundOf[int32](d, lower),
			boundOf[int64](d, lower), boundOf[uint8](d, lower), boundOf[uint16](d, lower), boundOf[uint32](d, lower), boundOf[uint64](d, lower)).on(0), nil
	}
}

func boundOf[T number](d tensor.DType, lower bool) kernel {
	return func(c call) error {
		rows, values := c.t(0), c.t(1)
		if len(rows.Shape) != 2 || len(values.Shape) != 2 || rows.Shape[0] != values.Shape[0] || rows.DType != values.DType {
			return fmt.Errorf("expected two matrices of one type and as many rows, got shapes %v and %v", rows.Shape, values.Shape)
		}
		out := make([]int, values.Len())
		n, m := rows.Shape[1], values.Shape[1]
		for i, v := range tensor.Values[T](values) {
			row := tensor.Values[T](rows)[i/m*n : (i/m+1)*n]
			out[i] = sort.Search(n, func(j int) bool {
				if lower {
					return row[j] >= v
				}
				return row[j] > v
			})
		}
		return c.outputInts(0, d, out, values.Shape...)
	}
}

func bucketize(s *site) (kernel, error) {
	var at []float64
	for _, b := range list[float32](s, "boundaries") {
		at = append(at, float64(b))
	}
	if !slices.IsSortedFunc(at, cmp.Compare[float64]) {
		return nil, fmt.Errorf("expected sorted boundaries")
	}
	return func(c call) error {
		t := c.t(0)
		switch t.DType {
		case tensor.Float32, tensor.Float64, tensor.Int32, tensor.Int64:
		default:
			return fmt.Errorf("type %v %w", t.DType, ErrUnsupported)
		}
		dst, err := outputOf[int32](c, 0, t.Shape...)
		if err != nil {
			return err
		}
		for i := range dst {
			v := t.Float(i)
			dst[i] = int32(sort.Search(len(at), func(j int) bool { return v < at[j] }))
		}
		return nil
	}, nil
}
