package distribute

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

func TestPresentRows(t *testing.T) {
	for _, ids := range [][]int64{{}, {4, 2}, {4, 2, -1, -1}, {-1, 4, -1, 2}, {-1, -1}, {4, -1, 2}} {
		rows := tensor.New(tensor.Float32, len(ids), 2)
		var want []float32
		var wantIDs []int64
		spread := make([]float32, 0, 2*len(ids))
		for i, id := range ids {
			copy(tensor.Values[float32](rows)[2*i:], []float32{float32(10 * i), float32(10*i + 1)})
			if id < 0 {
				spread = append(spread, 0, 0)
				continue
			}
			wantIDs = append(wantIDs, id)
			want = append(want, float32(10*i), float32(10*i+1))
			spread = append(spread, float32(10*i), float32(10*i+1))
		}
		before := slices.Clone(ids)
		kept := present(ids)
		got := presentRows(rows, ids, kept)
		if !slices.Equal(kept, wantIDs) || !slices.Equal(tensor.Values[float32](got), want) || !slices.Equal(got.Shape, []int{len(wantIDs), 2}) || !slices.Equal(ids, before) {
			t.Errorf("ids %v: kept %v with rows %v, expected %v", ids, kept, tensor.Values[float32](got), want)
		}
		back := tensor.New(tensor.Float32, len(ids), 2)
		for i := range back.Bytes {
			back.Bytes[i] = 7
		}
		copy(tensor.Values[float32](back), want)
		putApart(back, ids, len(kept))
		if !slices.Equal(tensor.Values[float32](back), spread) {
			t.Errorf("ids %v: put apart %v, expected %v", ids, tensor.Values[float32](back), spread)
		}
	}
}

func TestGatheredRowsLeavePaddingOut(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Int32, tensor.Int64} {
		j := newGatheredRows(graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{{PerBatch: 2}, graph.Fixed(1)}}},
			graph.Type{DType: d, Shape: graph.Shape{Dims: []graph.Dim{{PerBatch: 2}}}})
		for range 2 {
			j.reset()
			for _, ids := range [][]int64{{-1, 3, -1, 1}, {-1, -1}, {0, 5, -1}} {
				rows := tensor.New(tensor.Float32, len(ids), 1)
				at := tensor.New(d, len(ids))
				for i, id := range ids {
					tensor.Values[float32](rows)[i] = float32(id)
					if d == tensor.Int32 {
						tensor.Values[int32](at)[i] = int32(id)
					} else {
						tensor.Values[int64](at)[i] = id
					}
				}
				if err := j.add(rows.Bytes, at.Bytes); err != nil {
					t.Fatal(err)
				}
			}
			if got := tensor.Values[float32](j.rows); !slices.Equal(got, []float32{3, 1, 0, 5}) || j.batch() != 2 {
				t.Fatalf("%v: rows %v of a batch of %d", d, got, j.batch())
			}
			j.fill(3)
			if got := int64s(j.ids); !slices.Equal(got, []int64{3, 1, 0, 5, -1, -1}) || !slices.Equal(tensor.Values[float32](j.rows), []float32{3, 1, 0, 5, 0, 0}) {
				t.Errorf("%v: filled ids %v, rows %v", d, got, tensor.Values[float32](j.rows))
			}
		}
	}
}
