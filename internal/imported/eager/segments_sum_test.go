package eager

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestLargeSegments: threads that share the segments of many rows give the same sums as one loop, for segments of any length.
func TestLargeSegments(t *testing.T) {
	s, draw := newSession(t), rand.New(rand.NewPCG(5, 6))
	const rows, width, segments = 3000, 40, 50
	data, ids, index := make([]float32, rows*width), make([]int32, rows), make([]int64, rows)
	for i := range data {
		data[i] = float32(draw.IntN(100))
	}
	for i := range ids {
		ids[i], index[i] = min(int32(draw.IntN(3*segments)), segments-1), draw.Int64N(rows) // the last segment has the most rows
	}
	sum := func(ids []int32, row func(i int) int) []float32 {
		all := make([]float32, segments*width)
		for i, id := range ids {
			for k := range width {
				if id >= 0 {
					all[int(id)*width+k] += data[row(i)*width+k]
				}
			}
		}
		return all
	}
	check := func(op string, got *tensor.Tensor, want []float32) {
		t.Helper()
		if !slices.Equal(tensor.Values[float32](got), want) {
			t.Errorf("%s: sums differ from those of one loop", op)
		}
	}
	x, attrs := tensorOf(data, rows, width), graph.Attrs{"T": tensor.Float32}
	ids[7] = -1
	unsorted := s.run("UnsortedSegmentSum", attrs, x, tensorOf(ids, rows), tensor.Scalar(int32(segments)))
	check("UnsortedSegmentSum", unsorted.T, sum(ids, func(i int) int { return i }))
	ids[7] = 0
	slices.Sort(ids)
	sparse := s.run("SparseSegmentSumWithNumSegments", attrs, x, tensorOf(index, rows), tensorOf(ids, rows), tensor.Scalar(int32(segments)))
	check("SparseSegmentSum", sparse.T, sum(ids, func(i int) int { return int(index[i]) }))
}
