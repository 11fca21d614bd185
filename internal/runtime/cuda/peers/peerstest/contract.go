package peerstest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/tensor"
)

// GPUs are the numbers of GPUs for which the contract is tested.
var GPUs = []int{1, 2, 3, 4, 8}

// counts are numbers of elements: none, fewer than GPUs, not divisible by their number, and more than a chunk's alignment.
var counts = []int{0, 1, 3, 64, 65, 1000, 4099}

// Run tests that a Reducer keeps the contract. It calls make for each number of GPUs.
func Run(t *testing.T, make func(r *Rig) peers.Reducer) {
	for _, n := range GPUs {
		t.Run(fmt.Sprintf("%d GPUs", n), func(t *testing.T) {
			r := newRig(t, n)
			reducer := make(r)
			t.Cleanup(func() { r.must(reducer.Close()) })
			for _, count := range counts {
				Sum[float32](r, reducer, tensor.Float32, count)
				Sum[float64](r, reducer, tensor.Float64, count)
				Sum[int64](r, reducer, tensor.Int64, count)
				sumBFloat16(r, reducer, count)
			}
			refuses(r, reducer)
		})
	}
}

// number is the element types of sums.
type number interface{ float32 | float64 | int64 }

// Sum sums random numbers twice in a row, without the host waiting in between, and compares them bit by bit with sums in the
// order of the ranks.
func Sum[T number](r *Rig, reducer peers.Reducer, t tensor.DType, count int) {
	r.T.Helper()
	rng := rand.New(rand.NewPCG(7, uint64(count)))
	parts, want := make([]peers.Part, len(r.Devices)), make([]T, count)
	for i := range parts {
		v := make([]T, count)
		for j := range v {
			v[j] = T(rng.NormFloat64() * 1000)
			if i == 0 {
				want[j] = v[j]
				continue
			}
			want[j] += v[j]
		}
		parts[i] = peers.Part{Stream: r.Streams[i], Address: r.Put(i, bytesOf(v)), Count: count, Type: t}
	}
	r.must(reducer.AllReduce(parts))
	r.must(reducer.AllReduce(parts)) // parts are now equal
	if len(parts) > 1 {
		for j, v := range want {
			for range len(parts) - 1 {
				want[j] += v
			}
		}
	}
	r.compare(parts, bytesOf(want))
}

// compare checks that all GPUs have the same bytes.
func (r *Rig) compare(parts []peers.Part, want []byte) {
	r.T.Helper()
	got := make([][]byte, len(parts))
	for i, p := range parts {
		got[i] = r.get(i, p.Address, p.Count*p.Type.Size())
	}
	for i, s := range r.Streams {
		r.must(s.Synchronize())
		if !bytes.Equal(got[i], want) {
			r.T.Fatalf("GPU %d of %d, %d of %v: the sum differs", i, len(parts), parts[0].Count, parts[0].Type)
		}
	}
}

// sumBFloat16 sums small integers, so that sums are exact.
func sumBFloat16(r *Rig, reducer peers.Reducer, count int) {
	r.T.Helper()
	parts, want := make([]peers.Part, len(r.Devices)), make([]uint16, count)
	for i := range parts {
		v := make([]uint16, count)
		for j := range v {
			v[j] = uint16(math.Float32bits(float32((i+1)*(j%5))) >> 16)
			want[j] = uint16(math.Float32bits(float32((i+1)*(i+2)/2*(j%5))) >> 16)
		}
		parts[i] = peers.Part{Stream: r.Streams[i], Address: r.Put(i, bytesOf(v)), Count: count, Type: tensor.BFloat16}
	}
	r.must(reducer.AllReduce(parts))
	r.compare(parts, bytesOf(want))
}

// refuses checks that parts that do not fit are errors.
func refuses(r *Rig, reducer peers.Reducer) {
	r.T.Helper()
	good := make([]peers.Part, len(r.Devices))
	for i := range good {
		good[i] = peers.Part{Stream: r.Streams[i], Address: r.Put(i, make([]byte, 64)), Count: 8, Type: tensor.Float64}
	}
	last := len(good) - 1
	for what, change := range map[string]func(p []peers.Part) []peers.Part{
		"too few":   func(p []peers.Part) []peers.Part { return p[:last] },
		"no stream": func(p []peers.Part) []peers.Part { p[last].Stream = nil; return p },
		"no sums":   func(p []peers.Part) []peers.Part { p[last].Type = tensor.Bool; return p },
		"negative":  func(p []peers.Part) []peers.Part { p[0].Count = -1; return p },
	} {
		if err := reducer.AllReduce(change(append([]peers.Part(nil), good...))); !errors.Is(err, peers.ErrParts) {
			r.T.Errorf("%s: expected %v, got %v", what, peers.ErrParts, err)
		}
	}
	r.must(reducer.AllReduce(good)) // still usable
	for _, s := range r.Streams {
		r.must(s.Synchronize())
	}
}
