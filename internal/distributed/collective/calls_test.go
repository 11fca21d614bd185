package collective

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/tensor"
)

func TestBroadcastProperty(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		groups := newSite(t, n, false).form(t, 0, nil)
		rapid.Check(t, func(t *rapid.T) {
			layout, root := drawLayout(t), rapid.IntRange(0, n-1).Draw(t, "root")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			tensors := make([][]*tensor.Tensor, n)
			for rank := range tensors {
				for _, x := range layout {
					v := tensor.New(x.DType, x.Shape...)
					fill(r, v)
					tensors[rank] = append(tensors[rank], v)
				}
			}
			all(t, n, func(rank int) error { return groups[rank].Broadcast(context.Background(), root, tensors[rank]) })
			for rank := range tensors {
				for i, v := range tensors[rank] {
					if !bytes.Equal(v.Bytes, tensors[root][i].Bytes) {
						t.Fatalf("rank %d: tensor %d is not the root's", rank, i)
					}
				}
			}
		})
	}
}

func TestAllGatherProperty(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		groups := newSite(t, n, false).form(t, 0, nil)
		rapid.Check(t, func(t *rapid.T) {
			values := make([][]byte, n)
			for i := range values {
				size := rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 100), rapid.IntRange(chunkBytes-1, 3*chunkBytes)).Draw(t, "size")
				values[i] = bytes.Repeat([]byte{byte(i + 1)}, size)
			}
			all(t, n, func(rank int) error {
				got, err := groups[rank].AllGather(context.Background(), values[rank])
				for i := range got {
					if !bytes.Equal(got[i], values[i]) {
						t.Errorf("rank %d: value of rank %d differs", rank, i)
					}
				}
				return err
			})
		})
	}
}

// Groups larger than the mesh only have the ring.
func TestLargeGroup(t *testing.T) {
	n := meshSize + 1
	groups := newSite(t, n, false).form(t, 0, nil)
	all(t, n, func(rank int) error {
		x := ones(3)
		if err := groups[rank].AllReduce(t.Context(), x, Sum); err != nil {
			return err
		}
		if v := x[0].Float(2); v != float64(n) {
			t.Errorf("rank %d: got %v, expected %d", rank, v, n)
		}
		return nil
	})
}
