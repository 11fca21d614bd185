package eager

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// segmentOps reduce runs and groups of rows.
var segmentOps = segmentTable()

func segmentTable() map[*ops.Def]maker {
	all := map[*ops.Def]maker{}
	for op, r := range map[*ops.Def]reduction{ops.SegmentMax: maxOf, ops.SegmentMin: minOf} {
		all[op] = plain(segment(r, false))
	}
	for op, r := range map[*ops.Def]reduction{ops.SegmentSum: sumOf, ops.SegmentMean: meanOf, ops.SegmentProd: prodOf} {
		all[op] = plain(complexSegments(segmentsOf(r, false), r, false))
	}
	all[ops.UnsortedSegmentSum] = plain(unsortedSum())
	for op, r := range map[*ops.Def]reduction{ops.UnsortedSegmentMax: maxOf, ops.UnsortedSegmentMin: minOf} {
		all[op] = plain(segment(r, true))
	}
	all[ops.UnsortedSegmentProd] = plain(complexSegments(segmentsOf(prodOf, true), prodOf, true))
	for op, r := range map[*ops.Def]reduction{ops.SparseSegmentSum: sumOf, ops.SparseSegmentMean: meanOf, ops.SparseSegmentSqrtN: sqrtOf,
		ops.SparseSegmentSumWithNumSegments: sumOf, ops.SparseSegmentMeanWithNumSegments: meanOf, ops.SparseSegmentSqrtNWithNumSegments: sqrtOf} {
		all[op] = plain(floats(sparseSegment[float32](r), sparseSegment[float64](r)).on(0))
	}
	return all
}

// reduction is how the rows of a segment are reduced.
type reduction int

const (
	sumOf reduction = iota
	meanOf
	sqrtOf // the sum divided by the square root of the number of rows
	maxOf
	minOf
	prodOf
)

func segment(r reduction, unsorted bool) kernel { return segmentsOf(r, unsorted).on(0) }

func segmentsOf(r reduction, unsorted bool) *typed {
	return numbers(segmentBy[float32](r, unsorted), segmentBy[float64](r, unsorted), segmentBy[int8](r, unsorted), segmentBy[int16](r, unsorted),
		segmentBy[int32](r, unsorted), segmentBy[int64](r, unsorted), segmentBy[uint8](r, unsorted), segmentBy[uint16](r, unsorted),
		segmentBy[uint32](r, unsorted), segmentBy[uint64](r, unsorted))
}

// segmentIDs checks ids, which must be ascending if sorted, and returns the number of segments.
func segmentIDs[I int | int32 | int64](ids []I, sorted bool, num int) (int, error) {
	var last I
	for i, v := range ids {
		if sorted && v < last {
			if i == 0 || v < 0 {
				return 0, errors.New("segment ids must be >= 0")
			}
			return 0, errors.New("segment ids are not increasing")
		}
		last = v
		if num >= 0 && int(v) >= num {
			return 0, fmt.Errorf("segment_ids[%d] = %d is out of range [0, %d)", i, v, num)
		}
	}
	if num >= 0 {
		return num, nil
	}
	if len(ids) == 0 {
		return 0, nil
	}
	return int(last) + 1, nil
}

// segmentsAsked checks the shapes of segments, and returns the requested number if they are unsorted, else -1.
func (c call) segmentsAsked(unsorted bool) (int, error) {
	t, idt := c.t(0), c.t(1)
	k := len(idt.Shape)
	if k > len(t.Shape) || !unsorted && k != 1 || !slices.Equal(t.Shape[:k], idt.Shape) {
		return 0, fmt.Errorf("data of shape %v must start with the shape of segment_ids, %v", t.Shape, idt.Shape)
	}
	if !unsorted {
		return -1, nil
	}
	num, err := integer("num_segments", c.t(2))
	if err == nil && num < 0 {
		err = fmt.Errorf("input num_segments == %d must not be negative", num)
	}
	return num, err
}

func segmentBy[T number](r reduction, unsorted bool) kernel {
	return func(c call) error {
		t, idt := c.t(0), c.t(1)
		ids, err := c.integers("segment_ids", idt)
		if err != nil {
			return err
		}
		num, err := c.segmentsAsked(unsorted)
		if err != nil {
			return err
		}
		k := len(idt.Shape)
		if unsorted && t.Len() == 0 {
			ids = nil // TensorFlow does not check them
		}
		n, err := segmentIDs(ids, !unsorted, num)
		if err != nil {
			return err
		}
		if err := c.room(n, 8); err != nil {
			return err
		}
		dst, err := outputOf[T](c, 0, append([]int{n}, t.Shape[k:]...)...)
		if err != nil {
			return err
		}
		w := product(t.Shape[k:])
		s := segments[T]{r, unsorted, dst, make([]int, n), w}
		s.start(unsorted)
		if w > 0 {
			src := tensor.Values[T](t)
			for i, v := range ids {
				if v >= 0 {
					s.add(v, src[i*w:(i+1)*w])
				}
			}
		}
		s.finish()
		return nil
	}
}

// segments accumulates rows of dst.
type segments[T number] struct {
	r        reduction
	unsorted bool
	dst      []T
	counts   []int
	width    int
}

// start sets each row of unsorted segments to its neutral element, which empty ones keep. A maximum or minimum starts with
// a finite number, which an infinity never replaces.
func (s *segments[T]) start(unsorted bool) {
	if !unsorted {
		return
	}
	var v T
	switch s.r {
	case maxOf:
		v = lowest[T]()
	case minOf:
		v = highest[T]()
	case prodOf:
		v = 1
	default:
		return
	}
	for i := range s.dst {
		s.dst[i] = v
	}
	for i := range s.counts {
		s.counts[i] = 1
	}
}

func (s *segments[T]) add(v int, row []T) {
	dst := s.dst[v*s.width : (v+1)*s.width]
	s.counts[v]++
	if s.counts[v] == 1 {
		copy(dst, row)
		return
	}
	switch s.r {
	case maxOf:
		for i, x := range row {
			if s.unsorted && !(x < dst[i]) { // a number replaces a NaN
				dst[i] = x
			} else {
				dst[i] = max(dst[i], x)
			}
		}
	case minOf:
		for i, x := range row {
			if s.unsorted && !(dst[i] < x) {
				dst[i] = x
			} else {
				dst[i] = min(dst[i], x)
			}
		}
	case prodOf:
		for i, x := range row {
			dst[i] *= x
		}
	default:
		for i, x := range row {
			dst[i] += x
		}
	}
}

// finish divides means, and sets empty segments of sorted products to 1.
func (s *segments[T]) finish() {
	for v, n := range s.counts {
		row := s.dst[v*s.width : (v+1)*s.width]
		if s.r == meanOf && n > 1 {
			for i := range row {
				row[i] /= T(n)
			}
		}
		if s.r == prodOf && n == 0 {
			for i := range row {
				row[i] = 1
			}
		}
	}
}

// lowest returns the lowest value of T; for floats, the lowest finite one.
func lowest[T number]() T {
	var t T
	switch p := any(&t).(type) {
	case *float32:
		*p = -math.MaxFloat32
	case *float64:
		*p = -math.MaxFloat64
	case *int8:
		*p = math.MinInt8
	case *int16:
		*p = math.MinInt16
	case *int32:
		*p = math.MinInt32
	case *int64:
		*p = math.MinInt64
	}
	return t
}

// highest returns the largest finite value of T.
func highest[T number]() T {
	l := lowest[T]()
	if half := T(1) / 2; half != 0 {
		return -l
	}
	return l - 1 // wraps around
}
