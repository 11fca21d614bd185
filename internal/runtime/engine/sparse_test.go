package engine

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Rows are grouped and summed to the same bits by a direct table for a small variable and by a hash table.
func TestUniqueRowsOfSmallVariables(t *testing.T) {
	hashed, direct := &uniqueRows[float32]{}, &uniqueRows[float32]{}
	rapid.Check(t, func(r *rapid.T) {
		n, width, size := rapid.IntRange(1, 80).Draw(r, "rows"), rapid.IntRange(1, 3).Draw(r, "width"), 16
		ids, values := make([]int64, n), make([]float32, n*width)
		for i := range ids {
			ids[i] = rapid.Int64Range(-1, int64(size)-1).Draw(r, "id")
		}
		for i := range values {
			values[i] = rapid.Float32Range(-1, 1).Draw(r, "value")
		}
		group := func(u *uniqueRows[float32], size int) (known []int64, sums []uint32) {
			rows := &rowUpdate{indices{valueOf(tensor.Int64, ids)}, valueOf(tensor.Float32, values), size}
			u.prepare(rows)
			if err := u.collect(rows); err != nil {
				r.Fatal(err)
			}
			for k := range u.ids {
				for _, v := range u.sum(k) {
					sums = append(sums, math.Float32bits(v))
				}
			}
			return u.ids, sums
		}
		wantIDs, want := group(hashed, 1<<30)
		gotIDs, got := group(direct, size)
		if hashed.direct != nil || direct.direct == nil {
			r.Fatal("expected a hash table for the large variable and none for the small one")
		}
		if diff := cmp.Diff(wantIDs, gotIDs) + cmp.Diff(want, got); diff != "" {
			r.Fatal(diff)
		}
	})
}

// valueOf is a value that holds x.
func valueOf[T tensor.Element](d tensor.DType, x []T) *value {
	v := &value{typ: graph.Type{DType: d, Shape: graph.ShapeOf(len(x))}, dims: []int{len(x)}, n: len(x), elem: d.Size()}
	v.mem = make([]byte, len(x)*v.elem)
	copy(view[T](v), x)
	return v
}
