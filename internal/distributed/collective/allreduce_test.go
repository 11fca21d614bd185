package collective

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/tensor"
)

var reduced = []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int64}

// fill gives a tensor values of many magnitudes.
func fill(r *rand.Rand, t *tensor.Tensor) {
	for i := range tensor.Values[float32](t) {
		tensor.Values[float32](t)[i] = float32(r.NormFloat64() * math.Exp2(float64(r.IntN(20))))
	}
	for i := range tensor.Values[float64](t) {
		tensor.Values[float64](t)[i] = r.NormFloat64() * math.Exp2(float64(r.IntN(40)))
	}
	for i := range tensor.Values[int64](t) {
		tensor.Values[int64](t)[i] = r.Int64N(1<<40) - 1<<39
	}
}

// drawLayout draws types and sizes: none, one, a few, around the limits of chunks and exchanges.
func drawLayout(t *rapid.T) []*tensor.Tensor {
	size := rapid.OneOf(rapid.IntRange(0, 9), rapid.IntRange(0, 5000), rapid.IntRange(chunkBytes/4-3, chunkBytes/4+3), rapid.IntRange(0, 2*chunkBytes/4))
	var out []*tensor.Tensor
	for range rapid.IntRange(0, 5).Draw(t, "tensors") {
		out = append(out, tensor.New(rapid.SampledFrom(reduced).Draw(t, "type"), size.Draw(t, "size")))
	}
	return out
}

// Every worker ends with the same bits, the sum or mean of all inputs.
func TestAllReduceProperty(t *testing.T) {
	sizes := []int{1, 2, 3, 4, 8}
	if testing.Short() {
		sizes = sizes[:4]
	}
	for _, n := range sizes {
		for _, sockets := range []bool{false, true} {
			t.Run(name(n, sockets), func(t *testing.T) {
				s := newSite(t, n, sockets)
				packs := []int{1, 1000, 0}
				groups := make([][]*Group, len(packs))
				for i, pack := range packs {
					groups[i] = s.form(t, 0, func(c *Config) { c.Name, c.BytesPerPack = fmt.Sprint("pack", pack), pack })
				}
				rapid.Check(t, func(t *rapid.T) { checkAllReduce(t, rapid.SampledFrom(groups).Draw(t, "packs")) })
			})
		}
	}
}

func checkAllReduce(t *rapid.T, groups []*Group) {
	layout := drawLayout(t)
	op := rapid.SampledFrom([]Op{Sum, Mean}).Draw(t, "op")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	overlapped := rapid.Bool().Draw(t, "overlapped")
	n := len(groups)
	in, out := make([][]*tensor.Tensor, n), make([][]*tensor.Tensor, n)
	order := make([][]int, n)
	for rank := range groups {
		for _, x := range layout {
			v := tensor.New(x.DType, x.Shape...)
			fill(r, v)
			in[rank], out[rank] = append(in[rank], v), append(out[rank], v.Clone())
		}
		order[rank] = r.Perm(len(layout))
	}
	all(t, n, func(rank int) error {
		if overlapped {
			return reduceInOrder(groups[rank], out[rank], op, order[rank])
		}
		return groups[rank].AllReduce(context.Background(), out[rank], op)
	})
	for i := range layout {
		for rank := 1; rank < n; rank++ {
			if !bytes.Equal(out[rank][i].Bytes, out[0][i].Bytes) {
				t.Fatalf("tensor %d differs between ranks 0 and %d", i, rank)
			}
		}
		checkReduced(t, i, op, in, out[0][i])
	}
}

func reduceInOrder(g *Group, tensors []*tensor.Tensor, op Op, order []int) error {
	r, err := g.Start(context.Background(), tensors, op)
	if err != nil {
		return err
	}
	for _, i := range order {
		r.Ready(i)
	}
	return r.Wait()
}

// checkReduced compares a result with the same computation in float64 or int64.
func checkReduced(t *rapid.T, i int, op Op, in [][]*tensor.Tensor, got *tensor.Tensor) {
	n := len(in)
	for k := range got.Len() {
		if got.DType == tensor.Int64 {
			var sum int64
			for _, x := range in {
				sum += tensor.Values[int64](x[i])[k]
			}
			if op == Mean {
				sum /= int64(n)
			}
			if v := tensor.Values[int64](got)[k]; v != sum {
				t.Fatalf("tensor %d element %d: got %d, expected %d", i, k, v, sum)
			}
			continue
		}
		var sum, size float64
		for _, x := range in {
			sum += x[i].Float(k)
			size += math.Abs(x[i].Float(k))
		}
		if op == Mean {
			sum /= float64(n)
		}
		if v := got.Float(k); math.Abs(v-sum) > 1e-6*size {
			t.Fatalf("tensor %d element %d: got %g, expected %g", i, k, v, sum)
		}
	}
}
