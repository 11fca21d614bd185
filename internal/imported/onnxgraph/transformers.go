package onnxgraph

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// transformerOperators are parts of transformers, since version 23.
var transformerOperators = operators{
	"Attention":       as(attention),
	"RotaryEmbedding": one(rotaryEmbedding),

	"SimplifiedLayerNormalization": one(rmsNorm), // written by ONNX Runtime's exporters
}

// heads splits [batch, length, n*depth] into [batch, n, length, depth], unless it is split already.
func (x *site) heads(u *value, n int) *value {
	if u.rank() == 4 {
		return u
	}
	dims := u.dims()
	if len(dims) != 3 || n < 1 || dims[2] < 1 || dims[2]%n != 0 {
		refuse("%d heads of shape %v", n, dims)
	}
	split := x.concat(0, x.reshape(x.size(u, 0), 1), x.reshape(x.size(u, 1), 1), x.ints(n, dims[2]/n))
	y := x.sized(x.op(ops.Reshape, nil, u, split), []int{dims[0], dims[1], n, dims[2] / n})
	return x.transpose(y, []int{0, 2, 1, 3})
}

// attention is softmax(q·kᵀ·scale + mask)·v for heads; there may be fewer heads of keys and values.
func attention(x *site) []*value {
	limit := x.float("softcap", 0)
	x.attr("softmax_precision") // kernels compute at least in float32
	stage := x.int("qk_matmul_output_mode", 0)
	if stage < 0 || stage > 3 {
		refuse("qk_matmul_output_mode %d", stage)
	}
	flat, few := x.rank(0) == 3, x.int("kv_num_heads", 0)
	q, k, v := x.heads(x.at(0), x.int("q_num_heads", 0)), x.heads(x.at(1), few), x.heads(x.at(2), few)
	depth, keys := q.dims(), k.dims()
	if len(depth) != 4 || depth[3] < 1 || len(keys) != 4 {
		refuse("queries of shape %v, keys of shape %v", depth, keys)
	}
	if x.has(4) && x.has(5) {
		k, v = x.concat(2, x.at(4), k), x.concat(2, x.at(5), v)
	}
	out := []*value{nil, k, v}
	if h, n := depth[1], keys[1]; h != n {
		k, v = x.shared(k, h, n), x.shared(v, h, n)
	}
	root := math.Sqrt(x.float("scale", float32(1/math.Sqrt(float64(depth[3])))))
	scores := x.op(ops.BatchMatMulV2, graph.Attrs{"adj_y": true}, x.times(q, root), x.times(k, root))
	stages := []*value{scores}
	if limit > 0 {
		scores = x.times(x.op(ops.Tanh, nil, x.times(scores, 1/limit)), limit)
	}
	stages = append(stages, scores)
	scores = x.masked(scores, q, k)
	shares := x.shares(scores)
	out = append(out, append(stages, scores, shares)[stage])
	y := x.op(ops.BatchMatMulV2, nil, shares, v)
	if flat {
		y = x.transpose(y, []int{0, 2, 1, 3})
		shape := x.concat(0, x.reshape(x.size(y, 0), 1), x.reshape(x.size(y, 1), 1), x.ints(-1))
		wide := -1
		if d := v.dims(); d != nil && d[3] > 0 && depth[1] > 0 {
			wide = d[3] * depth[1]
		}
		y = x.sized(x.op(ops.Reshape, nil, y, shape), []int{depth[0], depth[2], wide})
	}
	out[0] = y
	return out
}

// shares returns the weights of keys: zeros if no key counts.
func (x *site) shares(scores *value) *value {
	most := x.op(ops.Max, graph.Attrs{"keep_dims": true}, scores, x.i32(-1))
	none := x.op(ops.Equal, nil, most, x.scalar(scores.dtype, math.Inf(-1)))
	return x.op(ops.SelectV2, nil, none, x.scalar(scores.dtype, 0), x.op(ops.Softmax, nil, scores))
}

// shared repeats each of n heads to match the heads of queries.
func (x *site) shared(u *value, heads, n int) *value {
	if n < 1 || heads < 1 || heads > 1<<16 || heads%n != 0 {
		refuse("%d heads of queries, %d of keys", heads, n)
	}
	at := make([]int, heads)
	for i := range at {
		at[i] = i / (heads / n)
	}
	return x.op(ops.GatherV2, nil, u, x.ints(at...), x.i32(1))
}

// masked hides keys from queries: by a float or boolean mask, later or distant keys, and keys beyond a cache's
// length.
func (x *site) masked(scores, q, k *value) *value {
	low := x.scalar(scores.dtype, math.Inf(-1))
	keys := x.steps(x.size(k, 2), tensor.Int32, 0)
	var length *value
	if x.has(6) {
		length = x.reshape(x.cast(x.at(6), tensor.Int32), -1, 1, 1, 1)
	}
	for _, sees := range x.sights(x.steps(x.size(q, 2), tensor.Int32, 1), keys, length, x.size(q, 2)) {
		scores = x.op(ops.SelectV2, nil, sees, scores, low)
	}
	if !x.has(3) {
		return scores
	}
	mask := x.wholeMask(x.at(3), k)
	if mask.dtype == tensor.Bool {
		return x.op(ops.SelectV2, nil, mask, scores, low)
	}
	return x.op(ops.AddV2, nil, scores, mask)
}

// sights returns masks of the keys that queries see. The queries come last in the positions of the past, or of the cache's length.
func (x *site) sights(at, keys, length, queries *value) (all []*value) {
	causal, left, right := x.flag("is_causal", false), x.int("left_window_size", -1), x.int("right_window_size", -1)
	if length != nil {
		all = append(all, x.op(ops.Less, nil, keys, length))
	}
	if !causal && left < 0 && right < 0 {
		return all
	}
	switch {
	case x.has(4):
		at = x.op(ops.AddV2, nil, at, x.size(x.at(4), 2))
	case length != nil:
		at = x.op(ops.AddV2, nil, at, x.op(ops.Sub, nil, length, queries))
	}
	if causal {
		all = append(all, x.op(ops.LessEqual, nil, keys, at))
	}
	if left >= 0 {
		all = append(all, x.op(ops.LessEqual, nil, x.op(ops.Sub, nil, at, keys), x.i32(left)))
	}
	if right >= 0 {
		all = append(all, x.op(ops.LessEqual, nil, x.op(ops.Sub, nil, keys, at), x.i32(right)))
	}
	return all
}

// wholeMask returns a mask for all keys: the last ones, which it may leave out, are hidden.
func (x *site) wholeMask(mask, k *value) *value {
	have, want := mask.dims(), k.dims()[2]
	last := len(have) - 1
	if last < 0 || !x.has(6) && (have[last] < 0 || want < 0 || have[last] == want || have[last] == 1) {
		return mask
	}
	pads := make([]*value, 2*len(have))
	for i := range pads {
		pads[i] = x.i32(0)
	}
	pads[len(pads)-1] = x.op(ops.Maximum, nil, x.op(ops.Sub, nil, x.size(k, 2), x.size(mask, last)), x.i32(0))
	unseen := constant(tensor.New(mask.dtype))
	if mask.dtype != tensor.Bool {
		unseen = x.scalar(mask.dtype, math.Inf(-1))
	}
	return x.op(ops.PadV2, nil, mask, x.reshape(x.pack(pads...), len(have), 2), unseen)
}

// rotaryEmbedding rotates pairs of numbers by angles that depend on their position, given as cosines and sines.
func rotaryEmbedding(x *site) *value {
	flat := x.rank(0) == 3
	u := x.at(0)
	n := x.int("num_heads", 0)
	if u = x.heads(u, n); !flat && u.rank() != 4 {
		refuse("expected rank 3 or 4")
	}
	dims := u.dims()
	turned := x.int("rotary_embedding_dim", 0)
	if turned == 0 {
		turned = dims[3]
	}
	if turned < 2 || turned%2 != 0 || turned > dims[3] {
		refuse("%d of %d numbers are turned", turned, dims[3])
	}
	angles := func(i int) *value { // [batch, 1, length, turned/2]
		v := x.at(i)
		if x.has(3) {
			v = x.op(ops.GatherV2, nil, v, x.at(3), x.i32(0))
		}
		return x.op(ops.ExpandDims, nil, v, x.i32(1))
	}
	cos, sin := angles(1), angles(2)
	part := func(from, to, step int) *value {
		return x.op(ops.StridedSlice, graph.Attrs{"begin_mask": int64(7), "end_mask": int64(7)}, u, x.ints(0, 0, 0, from), x.ints(0, 0, 0, to), x.ints(1, 1, 1, step))
	}
	mul := func(a, b *value) *value { return x.op(ops.Mul, nil, a, b) }
	interleaved := x.flag("interleaved", false)
	a, b := part(0, turned/2, 1), part(turned/2, turned, 1)
	if interleaved {
		a, b = part(0, turned, 2), part(1, turned, 2)
	}
	re, im := x.op(ops.Sub, nil, mul(a, cos), mul(b, sin)), x.op(ops.AddV2, nil, mul(a, sin), mul(b, cos))
	y := x.concat(3, re, im)
	if interleaved {
		y = x.op(ops.Reshape, nil, x.op(ops.Pack, graph.Attrs{"axis": int64(4)}, re, im), x.concat(0, x.op(ops.StridedSlice, nil, x.shape(u), x.ints(0), x.ints(3), x.ints(1)), x.ints(turned)))
	}
	if turned < dims[3] {
		y = x.concat(3, y, part(turned, dims[3], 1))
	}
	if flat {
		y = x.op(ops.Reshape, nil, x.transpose(y, []int{0, 2, 1, 3}), x.shape(x.at(0)))
	}
	return y
}
