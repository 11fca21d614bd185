package eager

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// sparseSegmentGrad is the gradient of a sparse segment op: it adds each segment's gradient to the rows that were reduced to it.
func sparseSegmentGrad(r reduction) maker {
	return plain(floats(func(c call) error { return gradOfSegments[float32](c, r) }, func(c call) error { return gradOfSegments[float64](c, r) }).on(0))
}

func gradOfSegments[T float](c call, r reduction) error {
	g := c.t(0)
	rows, err := c.vector("indices", c.t(1))
	if err != nil {
		return err
	}
	ids, err := c.vector("segment_ids", c.t(2))
	if err != nil {
		return err
	}
	n, err := integer("output_dim0", c.t(3))
	if err != nil {
		return err
	}
	if len(g.Shape) == 0 || len(rows) != len(ids) || n < 0 {
		return fmt.Errorf("segment_ids and indices should have same size, and grad be no scalar: %d, %d, %v", len(ids), len(rows), g.Shape)
	}
	if err := c.room(g.Shape[0], 8); err != nil {
		return err
	}
	counts := make([]T, g.Shape[0])
	for i, id := range ids {
		if id < 0 || id >= len(counts) {
			return fmt.Errorf("Segment id %d out of range [0, %d)", id, len(counts))
		}
		if rows[i] < 0 || rows[i] >= n {
			return fmt.Errorf("Index %d out of range [0, %d)", rows[i], n)
		}
		counts[id]++
	}
	dst, err := outputOf[T](c, 0, append([]int{n}, g.Shape[1:]...)...)
	if err != nil {
		return err
	}
	src, w := tensor.Values[T](g), product(g.Shape[1:])
	for i, id := range ids {
		scale := T(1)
		switch r {
		case meanOf:
			scale = 1 / counts[id]
		case sqrtOf:
			scale = 1 / T(math.Sqrt(float64(counts[id])))
		}
		to := dst[rows[i]*w : (rows[i]+1)*w]
		for k, v := range src[id*w : (id+1)*w] {
			to[k] += v * scale
		}
	}
	return nil
}
