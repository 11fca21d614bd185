package stablehlograph

import (
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// The constants of Philox: "Parallel random numbers: as easy as 1, 2, 3", Salmon et al. 2011.
const (
	philoxRounds           = 10
	philoxA, philoxB       = 0xd2511f53, 0xcd9e8d57
	philoxKeyA, philoxKeyB = 0x9e3779b9, 0xbb67ae85
	low32                  = 1<<32 - 1
)

// rngBitGenerator draws integers of up to 32 bits with Philox, XLA's default on CPUs. The first of the state's two words is the key, and
// the upper half of the counter.
func rngBitGenerator(x *site) []*value {
	state, to := x.at(0), x.result(1)
	if kind := x.enum("rng_algorithm"); kind != "DEFAULT" && kind != "PHILOX" {
		refuse("rng_algorithm %s", kind)
	}
	if state.dtype != tensor.Uint64 || state.rank() != 1 || state.dims[0] != 2 || !isInteger(to.DType) || to.DType.Size() > 4 || open(to.Dims) {
		refuse("a state of %v and shape %v for %v of shape %v: expected two of uint64, for integers of up to 32 bits of a known shape", state.dtype, state.dims, to.DType, to.Dims)
	}
	n := 1
	for _, d := range to.Dims {
		n *= d
	}
	groups := (n + 3) / 4
	w := words{x}
	signed := x.bits(state, tensor.Int64)
	word := func(i int) *value { return x.reshape(x.slice(signed, []int{i}, []int{1})) }
	key, counter := word(0), word(1)
	low := w.plus(counter, x.count(tensor.Int64, scalar(tensor.Int32, float64(groups))))
	most := bits(tensor.New(tensor.Int64), 1<<63)
	carried := x.each(ops.Less, nil, w.xor(low, most), w.xor(counter, most)) // compare as unsigned
	high := w.plus(key, x.cast(carried, tensor.Int64))
	drawn := w.philox([4]*value{w.low(low), w.high(low), w.low(high), w.high(high)}, w.low(key), w.high(key))
	var columns []*value
	for _, c := range drawn {
		columns = append(columns, x.reshape(c, groups, 1))
	}
	all := x.slice(x.reshape(x.concat(1, columns...), 4*groups), []int{0}, []int{n})
	next := x.concat(0, x.reshape(key, 1), x.reshape(w.plus(counter, number64(uint64(groups))), 1))
	all = x.each(ops.BitwiseAnd, nil, x.reshape(all, to.Dims...), number64(1<<(8*to.DType.Size())-1))
	return []*value{x.bits(next, tensor.Uint64), x.bits(x.cast(all, integers[to.DType.Size()][1]), to.DType)}
}

// number64 returns a number as an int64.
func number64(v uint64) *value { return bits(tensor.New(tensor.Int64), v) }

// words computes with 32-bit integers in 64 bits, which hold their products.
type words struct{ *site }

func (w words) plus(a, b *value) *value { return w.each(ops.AddV2, nil, a, b) }
func (w words) xor(a, b *value) *value  { return w.each(ops.BitwiseXor, nil, a, b) }
func (w words) low(a *value) *value     { return w.each(ops.BitwiseAnd, nil, a, number64(low32)) }
func (w words) high(a *value) *value {
	return w.low(w.each(ops.RightShift, nil, a, number64(32)))
}

// philox makes four words from a counter and a key.
func (w words) philox(c [4]*value, keyA, keyB *value) [4]*value {
	for round := range philoxRounds {
		if round > 0 {
			keyA, keyB = w.low(w.plus(keyA, number64(philoxKeyA))), w.low(w.plus(keyB, number64(philoxKeyB)))
		}
		a, b := w.each(ops.Mul, nil, c[0], number64(philoxA)), w.each(ops.Mul, nil, c[2], number64(philoxB))
		c = [4]*value{w.xor(w.xor(w.high(b), c[1]), keyA), w.low(b), w.xor(w.xor(w.high(a), c[3]), keyB), w.low(a)}
	}
	return c
}
