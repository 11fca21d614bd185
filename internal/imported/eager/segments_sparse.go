package eager

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// sparseSegment reduces the rows of data listed in indices by sorted segments.
func sparseSegment[T float](r reduction) kernel {
	return func(c call) error {
		switch c.t(1).DType {
		case tensor.Int32:
			return sparseSegmentBy[T, int32](c, r)
		case tensor.Int64:
			return sparseSegmentBy[T, int64](c, r)
		}
		return fmt.Errorf("indices: expected int32 or int64, got %v", c.t(1).DType)
	}
}

func sparseSegmentBy[T float, I int32 | int64](c call, r reduction) error {
	t, idx := c.t(0), tensor.Values[I](c.t(1))
	if err := rank("indices", c.t(1), 1); err != nil {
		return err
	}
	ids, err := c.vector("segment_ids", c.t(2))
	if err != nil {
		return err
	}
	if len(ids) != len(idx) || len(t.Shape) == 0 {
		return fmt.Errorf("segment_ids and indices should have same size, and data be no scalar: %d, %d, %v", len(ids), len(idx), t.Shape)
	}
	num := -1
	if len(c.in) == 4 {
		if num, err = integer("num_segments", c.t(3)); err != nil {
			return err
		}
		if num < 0 {
			return fmt.Errorf("num_segments: expected no negative number, got %d", num)
		}
	}
	n, err := segmentIDs(ids, true, num)
	if err != nil {
		return err
	}
	dst, err := outputOf[T](c, 0, append([]int{n}, t.Shape[1:]...)...)
	if err != nil {
		return err
	}
	for i, v := range idx {
		if v < 0 || int(v) >= t.Shape[0] {
			return fmt.Errorf("bad: indices[%d] == %d out of range [0, %d)", i, v, t.Shape[0])
		}
	}
	w := product(t.Shape[1:])
	if w == 0 {
		return nil
	}
	kernels.Parallel(len(ids), max(1, sparseEach/w), &segmentRows[T, I]{dst, tensor.Values[T](t), idx, ids, w, r})
	return nil
}

// sparseEach is the number of elements that are worth a thread.
const sparseEach = 1 << 14

// segmentRows is the work of a sparse segment reduction: it sums the rows of src listed in idx by their sorted ids.
type segmentRows[T float, I int32 | int64] struct {
	dst, src []T
	idx      []I
	ids      []int
	width    int
	r        reduction
}

// Run implements kernels.Task: it does the segments that begin at indices lo to hi.
func (s *segmentRows[T, I]) Run(lo, hi int) {
	for lo > 0 && lo < hi && s.ids[lo] == s.ids[lo-1] {
		lo++
	}
	for lo < hi {
		end := lo + 1
		for end < len(s.ids) && s.ids[end] == s.ids[lo] {
			end++
		}
		row := s.dst[s.ids[lo]*s.width:][:s.width]
		kernels.GatherSum(row, s.src, s.idx[lo:end], nil)
		if by := T(end - lo); s.r != sumOf && by > 1 {
			if s.r == sqrtOf {
				by = T(math.Sqrt(float64(by)))
			}
			for k := range row {
				row[k] /= by
			}
		}
		lo = end
	}
}
