package graph

import "fmt"

// SliceEntry is one begin:end:stride of a StridedSlice, or one index.
type SliceEntry struct {
	Begin, End, Stride int
	NoBegin, NoEnd     bool // from the first, to the last
	Shrink             bool // takes index Begin alone, whatever End and the masks say; drops the dimension
}

// Resolve returns the first index taken of a dimension of that size, and the number of indices taken.
func (e SliceEntry) Resolve(dim int) (first, size int, err error) {
	if e.Stride == 0 {
		return 0, 0, fmt.Errorf("strides must be non-zero")
	}
	if e.Shrink {
		i := e.Begin // even if masked
		if i < 0 {
			i += dim
		}
		if i < 0 || i >= dim {
			return 0, 0, fmt.Errorf("slice index %d out of bounds for size %d", e.Begin, dim)
		}
		if e.Stride < 0 {
			return 0, 0, fmt.Errorf("only stride 1 allowed on non-range indexing")
		}
		return i, 1, nil
	}
	lo, hi := 0, dim // the range that begin and end are clamped to
	if e.Stride < 0 {
		lo, hi = -1, dim-1
	}
	clamp := func(v int, masked bool, def int) int {
		if masked {
			return def
		}
		if v < 0 {
			v += dim // may still be negative
		}
		return min(max(v, lo), hi)
	}
	begin, end := clamp(e.Begin, e.NoBegin, lo), clamp(e.End, e.NoEnd, hi)
	if e.Stride < 0 {
		begin, end = clamp(e.Begin, e.NoBegin, hi), clamp(e.End, e.NoEnd, lo)
		if begin <= end {
			return max(begin, 0), 0, nil
		}
		if e.Stride < -dim {
			return begin, 1, nil
		}
		return begin, (begin - end - e.Stride - 1) / -e.Stride, nil
	}
	if begin >= end {
		return min(begin, max(dim-1, 0)), 0, nil
	}
	if e.Stride > dim {
		return begin, 1, nil
	}
	return begin, (end - begin + e.Stride - 1) / e.Stride, nil
}
