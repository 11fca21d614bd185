package eager

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestVectors: ops with vector kernels give the results of plain loops, for any shapes, with NaN and infinities.
func TestVectors(t *testing.T) {
	plain := map[string]func(a, b float32) float32{
		"AddV2": func(a, b float32) float32 { return a + b }, "Sub": func(a, b float32) float32 { return a - b },
		"Mul": func(a, b float32) float32 { return a * b }, "RealDiv": func(a, b float32) float32 { return a / b },
	}
	values := rapid.OneOf(rapid.Float32Range(-9, 9), rapid.SampledFrom([]float32{0, 1, float32(math.Inf(1)), float32(math.NaN()), math.MaxFloat32, 1e-40}))
	rapid.Check(t, func(r *rapid.T) {
		op := rapid.SampledFrom([]string{"AddV2", "Sub", "Mul", "RealDiv"}).Draw(r, "op")
		n := rapid.IntRange(0, 70).Draw(r, "n")
		na, nb := n, n
		if n > 0 {
			switch rapid.IntRange(0, 2).Draw(r, "form") {
			case 0:
				na = 1
			case 1:
				nb = 1
			}
		}
		a, b := rapid.SliceOfN(values, na, na).Draw(r, "a"), rapid.SliceOfN(values, nb, nb).Draw(r, "b")
		got := tensor.Values[float32](newSession(t).run(op, nil, tensorOf(slices.Clone(a), na), tensorOf(slices.Clone(b), nb)).T)
		if len(got) != n {
			r.Fatalf("got %d elements, want %d", len(got), n)
		}
		for i, v := range got {
			if want := plain[op](a[i%na], b[i%nb]); v != want && (v == v || want == want) {
				r.Fatalf("%s: element %d: got %v, want %v", op, i, v, want)
			}
		}
	})
}

// TestUncleared: previous memory contents do not show in large outputs.
func TestUncleared(t *testing.T) {
	const n, width = 2000, 16
	s := newSession(t)
	table, ids := make([]float32, 50*width), make([]int64, n)
	for i := range table {
		table[i] = float32(i)
	}
	for i := range ids {
		ids[i] = int64(i * 7 % 50)
	}
	in := tensorOf(table, 50, width)
	for range 20 {
		garbage := make([]byte, 4*n*width)
		for i := range garbage {
			garbage[i] = 0xFF
		}
		got := tensor.Values[float32](s.run("GatherV2", nil, in, ids, int32(0)).T)
		for i, v := range got {
			if want := table[int(ids[i/width])*width+i%width]; v != want {
				t.Fatalf("element %d: got %v, want %v", i, v, want)
			}
		}
	}
}

// TestDistinctInts: the integers' table numbers them like the table for any values.
func TestDistinctInts(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		keys := rapid.SliceOf(rapid.OneOf(rapid.Int64Range(-5, 5), rapid.Int64(), rapid.Map(rapid.Int64Range(0, 20), func(i int64) int64 { return i << 56 }))).Draw(r, "keys")
		ids, firsts := distinctInts(keys)
		wantIDs, wantFirsts := distinctOf(keys)
		if !slices.Equal(ids, wantIDs) || !slices.Equal(firsts, wantFirsts) {
			r.Fatalf("keys %v: got %v and %v, want %v and %v", keys, ids, firsts, wantIDs, wantFirsts)
		}
	})
}

// TestUnsortedSegmentSum: rows with the same id are added, rows with negative ids are left out, and ids out of range are refused.
func TestUnsortedSegmentSum(t *testing.T) {
	s := newSession(t)
	data := tensorOf([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2)
	s.expect(s.run("UnsortedSegmentSum", nil, data, []int64{2, -1, 2, 0}, int32(3)), "float32[3 2] 7 8 0 0 6 8")
	s.expect(s.run("UnsortedSegmentSum", nil, data, tensorOf([]int32{0, 0, 0, 0}, 4), int32(1)), "float32[1 2] 16 20")
	s.refuse("segment_ids[1] = 3 is out of range [0, 3)", "UnsortedSegmentSum", nil, data, []int64{0, 3, 0, 0}, int32(3))
	s.expect(s.run("UnsortedSegmentSum", nil, []int64{1, 2, 3}, tensorOf([]int32{1, 1, 0}, 3), int32(2)), "int64[2] 3 3")
	s.expect(s.run("DynamicStitch", graph.Attrs{"N": int64(2)}, tensorOf([]int32{0, 2}, 2), tensorOf([]int32{2, 1}, 2), tensorOf([]float32{1, 2, 3, 4}, 2, 2), tensorOf([]float32{5, 6, 7, 8}, 2, 2)),
		"float32[3 2] 1 2 7 8 5 6")
}
