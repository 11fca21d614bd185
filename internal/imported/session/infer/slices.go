package infer

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// sliceRules are for ops that slice.
var sliceRules = map[*ops.Def]rule{ops.Slice: slice, ops.StridedSlice: stridedSlice, ops.XlaDynamicSlice: dynamicSlice}

func slice(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	size, err := s.ints(2)
	if err != nil {
		return nil, err
	}
	begin, err := s.ints(1)
	if err != nil {
		begin = nil // the sizes may be enough
	}
	if len(size) != len(x) || begin != nil && len(begin) != len(x) {
		return nil, fmt.Errorf("slice %v+%v of shape %v", begin, size, x)
	}
	out := make([]int, len(x))
	for i, n := range size {
		switch {
		case n == -1 && begin == nil:
			return nil, errUnknown
		case n == -1:
			out[i] = x[i] - begin[i]
		default:
			out[i] = n
		}
		if out[i] < 0 || out[i] > x[i] || begin != nil && (begin[i] < 0 || begin[i] > x[i]-out[i]) {
			return nil, fmt.Errorf("slice %v+%v of shape %v", begin, size, x)
		}
	}
	return one(out...)
}

// dynamicSlice has its sizes as a value; its beginning is clamped into range.
func dynamicSlice(s *site) ([]Value, error) {
	size, err := s.ints(2)
	if err != nil {
		return nil, err
	}
	return one(size...)
}

// stridedSlice follows TensorFlow's masks: each entry of begin, end and strides stands for one axis, except an ellipsis,
// which stands for all axes that are left, and new axes, which stand for none.
func stridedSlice(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	strides, err := s.ints(3)
	if err != nil {
		return nil, err
	}
	var bounds [2][]int
	for i := range bounds {
		v, err := s.ints(i + 1)
		switch {
		case err == errUnknown:
			continue // the masks may be enough
		case err != nil:
			return nil, err
		case len(v) != len(strides):
			return nil, fmt.Errorf("expected begin, end and strides of one length, got %d and %d", len(v), len(strides))
		}
		bounds[i] = v
	}
	ellipsis, newAxis := s.n.Int("ellipsis_mask", 0), s.n.Int("new_axis_mask", 0)
	if ellipsis&(ellipsis-1) != 0 || len(strides) > 32 {
		return nil, fmt.Errorf("expected at most one ellipsis and 32 entries, got mask %b and %d", ellipsis, len(strides))
	}
	var out []int
	at := 0
	for i := range strides {
		bit := 1 << i
		switch {
		case ellipsis&bit != 0:
			to := max(at, len(x)-taken(newAxis, i+1, len(strides)))
			out = append(out, x[at:to]...)
			at = to
		case newAxis&bit != 0:
			out = append(out, 1)
		case at >= len(x):
			return nil, fmt.Errorf("more slices than the dimensions of %v", x)
		default:
			size, err := s.slice(i, strides[i], bounds, x[at])
			if err != nil {
				return nil, err
			}
			out = append(out, size...)
			at++
		}
	}
	return one(append(out, x[at:]...)...)
}

// taken counts the dimensions that entries i to n take.
func taken(newAxis, i, n int) int {
	count := 0
	for ; i < n; i++ {
		if newAxis&(1<<i) == 0 {
			count++
		}
	}
	return count
}

// slice returns the size that entry i of a StridedSlice leaves of a dimension, or nothing if the dimension is removed.
func (s *site) slice(i, stride int, bounds [2][]int, dim int) ([]int, error) {
	set := func(mask string) bool { return s.n.Int(mask, 0)&(1<<i) != 0 }
	e := graph.SliceEntry{Stride: stride, NoBegin: set("begin_mask"), NoEnd: set("end_mask"), Shrink: set("shrink_axis_mask")}
	switch begin, end := bounds[0], bounds[1]; {
	case begin == nil && e.Shrink && stride != 0:
		return nil, nil // a wrong index shows at run time
	case begin == nil && !e.NoBegin || end == nil && !e.NoEnd && !e.Shrink:
		return nil, errUnknown
	default:
		if begin != nil {
			e.Begin = begin[i]
		}
		if end != nil {
			e.End = end[i]
		}
	}
	_, size, err := e.Resolve(dim)
	if err != nil {
		return nil, fmt.Errorf("dimension of size %d: %w", dim, err)
	}
	if e.Shrink {
		return nil, nil
	}
	return []int{size}, nil
}
