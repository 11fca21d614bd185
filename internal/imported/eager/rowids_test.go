package eager

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestRowsOfVariables: gathers and scatters of any rows, many of them repeated, match plain loops.
func TestRowsOfVariables(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rows, width := rapid.IntRange(1, 30).Draw(r, "rows"), rapid.IntRange(0, 20).Draw(r, "width")
		ids := rapid.SliceOfN(rapid.Int64Range(0, int64(rows-1)), 0, 80).Draw(r, "ids")
		table, updates := make([]float32, rows*width), make([]float32, len(ids)*width)
		for i := range table {
			table[i] = float32(i)
		}
		for i := range updates {
			updates[i] = float32(i%7) - 3
		}
		s := newSession(t)
		v := s.run("VarHandleOp", nil)
		s.run("AssignVariableOp", nil, v, tensorOf(slices.Clone(table), rows, width))
		op := rapid.SampledFrom([]string{"ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterUpdate"}).Draw(r, "op")
		s.run(op, nil, v, ids, tensorOf(updates, len(ids), width))
		var picked []float32
		for i, id := range ids {
			for k := range width {
				at, u := int(id)*width+k, updates[i*width+k]
				switch op {
				case "ResourceScatterAdd":
					table[at] += u
				case "ResourceScatterSub":
					table[at] -= u
				default:
					table[at] = u
				}
			}
		}
		for _, id := range ids {
			picked = append(picked, table[int(id)*width:][:width]...)
		}
		if got := tensor.Values[float32](s.run("ReadVariableOp", nil, v).T); !slices.Equal(got, table) {
			r.Fatalf("%s: got %v, want %v", op, got, table)
		}
		if got := tensor.Values[float32](s.run("ResourceGather", nil, v, ids).T); !slices.Equal(got, picked) {
			r.Fatalf("ResourceGather: got %v, want %v", got, picked)
		}
	})
}

// TestBadRows: indices out of range are refused with TensorFlow's texts, and nothing changes.
func TestBadRows(t *testing.T) {
	s := newSession(t)
	v, a := s.run("VarHandleOp", graph.Attrs{"shared_name": []byte("v")}), s.run("VarHandleOp", graph.Attrs{"shared_name": []byte("a")})
	one, g := tensor.Scalar(float32(1)), tensorOf([]float32{1, 1, 1, 1}, 2, 2)
	for _, x := range []Value{v, a} {
		s.run("AssignVariableOp", nil, x, tensorOf([]float32{1, 2, 3, 4}, 2, 2))
	}
	for _, bad := range []int64{2, -1, 1 << 40, -1 << 62} {
		ids, text := []int64{0, bad}, fmt.Sprintf("indices[1] = %d is not in [0, 2)", bad)
		s.refuse(text, "ResourceScatterAdd", nil, v, ids, g)
		s.refuse(text, "ResourceScatterUpdate", nil, v, ids, g)
		s.refuse(text, "ResourceGather", nil, v, ids)
		s.refuse(text, "ResourceSparseApplyKerasMomentum", nil, v, a, one, g, ids, one)
		s.refuse(fmt.Sprintf("Index %d at offset 1 in indices is out of range", bad), "ResourceSparseApplyAdagrad", nil, v, a, one, g, ids)
		s.refuse(fmt.Sprintf("indices = %d is not in [0, 2)", bad), "ResourceGather", nil, v, bad)
	}
	s.expect(s.run("ReadVariableOp", nil, v), "float32[2 2] 1 2 3 4")
	s.expect(s.run("ReadVariableOp", nil, a), "float32[2 2] 1 2 3 4")
}
