package eager

import (
	"github.com/goestimator/goestimator/tensor"
)

// complexSegments adds complex kernels to a reduction's kernels.
func complexSegments(t *typed, r reduction, unsorted bool) kernel {
	return t.complexes(complexSegment[complex64](r, unsorted), complexSegment[complex128](r, unsorted)).on(0)
}

// complexSegment is segmentBy for sums, means and products of complex numbers.
func complexSegment[T complexNumber](r reduction, unsorted bool) kernel {
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
		dst, err := outputOf[T](c, 0, append([]int{n}, t.Shape[len(idt.Shape):]...)...)
		if err != nil || len(dst) == 0 {
			return err
		}
		for i := range dst {
			if r == prodOf {
				dst[i] = 1
			}
		}
		w, counts := len(dst)/n, make([]int, n)
		for i, v := range ids {
			if v < 0 {
				continue
			}
			counts[v]++
			for k, x := range tensor.Values[T](t)[i*w : (i+1)*w] {
				if r == prodOf {
					dst[v*w+k] *= x
				} else {
					dst[v*w+k] += x
				}
			}
		}
		for v, n := range counts {
			for k := range w {
				if r == meanOf && n > 1 {
					dst[v*w+k] /= T(complex(float64(n), 0))
				}
			}
		}
		return nil
	}
}
