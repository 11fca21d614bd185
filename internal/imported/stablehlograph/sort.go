package stablehlograph

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/stablehlo"
	"github.com/goestimator/goestimator/tensor"
)

// sortKey is an operand to sort by.
type sortKey struct {
	operand int
	falling bool
	raw     bool // -0 comes before 0, and NaNs are ordered by their bits
}

// sortOperation sorts operands along a dimension as its region compares two positions.
func sortOperation(x *site) []*value {
	axis := x.int("dimension")
	if len(x.in) == 0 || axis < -x.at(0).rank() || axis >= x.at(0).rank() {
		refuse("dimension %d of %d operands", axis, len(x.in))
	}
	if axis < 0 {
		axis += x.at(0).rank()
	}
	keys := x.sortKeys()
	last := append(without(x.at(0).rank(), axis), axis)
	back := slices.Clone(last)
	for i, d := range last {
		back[d] = i
	}
	moved := make([]*value, len(x.in))
	for i, v := range x.in {
		moved[i] = x.transpose(v, last...)
	}
	order := x.order(moved, keys)
	out := make([]*value, len(moved))
	for i, v := range moved {
		out[i] = x.transpose(x.pick(v, order), back...)
	}
	return out
}

// order returns the permutation of the last dimension. It sorts by the last key first, as later sorts are stable.
func (x *site) order(moved []*value, keys []sortKey) *value {
	var order *value
	for _, k := range slices.Backward(keys) {
		v := x.sortable(moved[k.operand], k)
		if order == nil {
			order = x.byKey(v)
			continue
		}
		order = x.pick(order, x.byKey(x.pick(v, order)))
	}
	return order
}

// sortable maps a key to integers whose descending order is the wanted one.
func (x *site) sortable(v *value, k sortKey) *value {
	switch {
	case v.dtype == tensor.Bool:
		v = x.cast(v, tensor.Int32)
	case v.dtype.Float() && k.raw:
		v = x.ordered(v)
	case v.dtype.Float():
		v = x.key(v, true)
	case unsigned(v.dtype):
		signed := integers[v.dtype.Size()][0]
		v = x.each(ops.BitwiseXor, nil, x.bits(v, signed), limit(signed, false))
	}
	if !k.falling {
		v = x.each(ops.Invert, nil, v)
	}
	return v
}

// byKey returns the permutation to descending order; it is stable.
func (x *site) byKey(v *value) *value {
	n := x.size(v, v.rank()-1)
	return x.several(ops.TopKV2, [][]int{v.dims, v.dims}, graph.Attrs{"sorted": true}, v, n)[1]
}

// pick selects elements of the last dimension by index.
func (x *site) pick(v, places *value) *value {
	attrs := graph.Attrs{"batch_dims": int64(v.rank() - 1)}
	return x.node(ops.GatherV2, places.dims, attrs, v, places, scalar(tensor.Int32, float64(v.rank()-1)))
}

// sortKeys finds the region's keys, the most significant first. The region has to order by them.
func (x *site) sortKeys() []sortKey {
	r, n := x.region(0), len(x.in)
	if len(r.Args) != 2*n {
		refuse("a region of %d arguments for %d operands", len(r.Args), n)
	}
	var keys []sortKey
	for i := range n {
		less, more := x.less(r, i, 1, 2), x.less(r, i, 2, 1)
		switch {
		case less && more:
			refuse("a region that is no order")
		case less || more:
			k := sortKey{operand: i, falling: more}
			if x.in[i].dtype.Float() {
				k.raw = x.less(r, i, math.Copysign(0, -1), 0) != x.less(r, i, 0, math.Copysign(0, -1))
			}
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		refuse("a region that compares nothing")
	}
	slices.SortStableFunc(keys, func(a, b sortKey) int {
		if x.before(r, a, b) {
			return -1
		}
		return 1
	})
	x.confirm(r, keys)
	return keys
}

// less asks whether a position with u in one operand comes before one with w, with all other operands equal.
func (x *site) less(r *stablehlo.Region, operand int, u, w float64) bool {
	args := make([]*value, 2*len(x.in))
	for i, v := range x.in {
		args[2*i], args[2*i+1] = scalar(v.dtype, 1), scalar(v.dtype, 1)
	}
	args[2*operand], args[2*operand+1] = x.sample(operand, u), x.sample(operand, w)
	return x.ask(r, args...).Int(0) != 0
}

// sample returns a number for an operand; for bools, 1 is false and 2 is true.
func (x *site) sample(operand int, v float64) *value {
	if d := x.in[operand].dtype; d != tensor.Bool {
		return scalar(d, v)
	}
	return scalar(tensor.Bool, v-1)
}

// before asks whether key a takes precedence over key b.
func (x *site) before(r *stablehlo.Region, a, b sortKey) bool {
	args := make([]*value, 2*len(x.in))
	for i, v := range x.in {
		args[2*i], args[2*i+1] = scalar(v.dtype, 1), scalar(v.dtype, 1)
	}
	put := func(k sortKey, rising bool) {
		one, two := x.sample(k.operand, 1), x.sample(k.operand, 2)
		if rising == k.falling {
			one, two = two, one
		}
		args[2*k.operand], args[2*k.operand+1] = one, two
	}
	put(a, true)
	put(b, false)
	return x.ask(r, args...).Int(0) != 0
}

// confirm checks, for all pairs of some numbers, that the region orders by the keys, and that earlier keys take precedence.
func (x *site) confirm(r *stablehlo.Region, keys []sortKey) {
	for at, k := range keys {
		if at > 0 && x.before(r, k, keys[at-1]) {
			refuse("a region that is no order of several keys")
		}
		samples := []float64{1, 2}
		switch d := x.in[k.operand].dtype; {
		case d.Float():
			samples = append(samples, 0, math.Copysign(0, -1), -3, math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(math.NaN(), -1))
		case isInteger(d) && !unsigned(d):
			samples = append(samples, 0, -3)
		}
		for _, u := range samples {
			for _, w := range samples {
				less := x.less(r, k.operand, u, w)
				want := rank(u, k.raw) < rank(w, k.raw)
				if k.falling {
					want = rank(u, k.raw) > rank(w, k.raw)
				}
				if less != want {
					refuse("an order of another kind: %v before %v is %v in key %d", u, w, less, at)
				}
			}
		}
	}
}

// rank returns a number's rank in the order.
func rank(v float64, raw bool) float64 {
	switch {
	case math.IsNaN(v) && raw && math.Signbit(v):
		return math.Inf(-1)
	case math.IsNaN(v):
		return math.Inf(1)
	case v == 0 && raw && math.Signbit(v):
		return -0.5
	}
	return math.Max(math.Min(v, 1e9), -1e9)
}

// topK returns the largest elements of the last dimension, and their indices. XLA compares the bits of floats.
func (x *site) topK(v *value, k int) []*value {
	return x.firstK(v, k, sortKey{falling: true, raw: true})
}

// firstK returns the first elements of the last dimension in an order, and their indices.
func (x *site) firstK(v *value, k int, order sortKey) []*value {
	key := x.sortable(v, order)
	dims := slices.Clone(v.dims)
	dims[len(dims)-1] = k
	places := x.several(ops.TopKV2, [][]int{dims, dims}, graph.Attrs{"sorted": true}, key, scalar(tensor.Int32, float64(k)))[1]
	return []*value{x.pick(v, places), places}
}
