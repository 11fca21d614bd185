package infer

import "fmt"

// sliceRules are of ops that cut.
var sliceRules = map[string]rule{"Slice": slice, "StridedSlice": stridedSlice}

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
		begin = nil // the sizes may say all
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

// stridedSlice follows TensorFlow's masks: each entry of begin, end and strides stands for one axis, but for an ellipsis,
// which stands for as many as are left, and new axes, which stand for none.
func stridedSlice(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	begin, err := s.ints(1)
	if err != nil {
		begin = nil
	}
	end, err := s.ints(2)
	if err != nil {
		end = nil
	}
	strides, err := s.ints(3)
	if err != nil {
		return nil, err
	}
	beginMask, endMask, ellipsis, newAxis, shrink := s.n.Int("begin_mask", 0), s.n.Int("end_mask", 0), s.n.Int("ellipsis_mask", 0), s.n.Int("new_axis_mask", 0), s.n.Int("shrink_axis_mask", 0)
	used := 0
	for i := range strides {
		if newAxis&(1<<i) == 0 && ellipsis&(1<<i) == 0 {
			used++
		}
	}
	if used > len(x) || len(strides) > 32 {
		return nil, fmt.Errorf("%d slices of shape %v", used, x)
	}
	var out []int
	at := 0
	for i, stride := range strides {
		bit := 1 << i
		switch {
		case ellipsis&bit != 0:
			for range len(x) - used {
				out = append(out, x[at])
				at++
			}
			used = len(x)
			continue
		case newAxis&bit != 0:
			out = append(out, 1)
			continue
		case shrink&bit != 0:
			at++
			continue
		case stride == 0:
			return nil, fmt.Errorf("stride 0")
		}
		n := x[at]
		at++
		lo, hi := 0, n
		if stride < 0 {
			lo, hi = n-1, -1
		}
		if beginMask&bit == 0 {
			if begin == nil {
				return nil, errUnknown
			}
			lo = clampIndex(begin[i], n, stride)
		}
		if endMask&bit == 0 {
			if end == nil {
				return nil, errUnknown
			}
			hi = clampIndex(end[i], n, stride)
		}
		size := 0
		if stride > 0 && hi > lo {
			size = (hi-lo-1)/stride + 1
		} else if stride < 0 && hi < lo {
			size = (lo-hi-1)/-stride + 1
		}
		out = append(out, size)
	}
	out = append(out, x[at:]...)
	return one(out...)
}

// clampIndex brings an index into an axis of n, as a bound for the direction of the stride.
func clampIndex(i, n, stride int) int {
	if i < 0 {
		i += n
	}
	if stride > 0 {
		return min(max(i, 0), n)
	}
	return min(max(i, -1), n-1)
}
