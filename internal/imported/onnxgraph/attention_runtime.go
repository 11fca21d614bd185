package onnxgraph

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// attentionRuntimeOperators are parts of transformers, as ONNX Runtime's optimizer and exporters write them.
var attentionRuntimeOperators = operators{
	"Attention":                        as(runtimeAttention).but("do_rotary, lengths of keys of ONNX Runtime's older forms, one buffer for what is past and present"),
	"MultiHeadAttention":               as(multiHeadAttention).but("packed queries, keys and values, one buffer for what is past and present"),
	"GroupQueryAttention":              as(groupQueryAttention).but("smooth softmax, quantized keys, what is added to the scores"),
	"RotaryEmbedding":                  one(runtimeRotary),
	"EmbedLayerNormalization":          as(embedNorm),
	"SkipSimplifiedLayerNormalization": as(skipRMSNorm), "SimplifiedLayerNormalization": one(rmsNorm),
}

// attended is softmax(q·kᵀ·scale + bias)·v for heads [batch, heads, length, depth]; its result is [batch, length, heads*depth].
type attended struct {
	q, k, v *value
	heads   int
	scale   float64 // 0: 1/sqrt(depth)
	softcap float64
	bias    []*value // added to the scores
	causal  bool     // queries do not see later keys
	window  int      // how many keys up to its own position a query sees; 0: all
	first   *value   // the position of each row's first query; nil: the queries are at the last positions of the keys
	past    *value   // the position of the first query in all rows, instead of first; the last query then sees all keys
	total   *value   // how many keys of each row count; nil: all
}

// result adds the nodes.
func (a attended) result(x *site) *value {
	depth := a.q.dims()
	if len(depth) != 4 || depth[3] < 1 {
		refuse("queries of shape %v: expected a known depth", depth)
	}
	scale := a.scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(depth[3]))
	}
	scores := x.times(x.op(ops.BatchMatMulV2, graph.Attrs{"adj_y": true}, a.q, a.k), scale)
	if a.softcap > 0 {
		scores = x.times(x.op(ops.Tanh, nil, x.times(scores, 1/a.softcap)), a.softcap)
	}
	for _, b := range a.bias {
		scores = x.op(ops.AddV2, nil, scores, b)
	}
	if a.causal {
		scores = x.op(ops.SelectV2, nil, a.sees(x), scores, x.scalar(scores.dtype, math.Inf(-1)))
	}
	y := x.transpose(x.op(ops.BatchMatMulV2, nil, x.op(ops.Softmax, nil, scores), a.v), []int{0, 2, 1, 3})
	wide := -1
	if d := a.v.dims(); d != nil && d[3] > 0 && a.heads > 0 {
		wide = d[3] * a.heads
	}
	shape := x.concat(0, x.reshape(x.size(y, 0), 1), x.reshape(x.size(y, 1), 1), x.ints(wide))
	return x.sized(x.op(ops.Reshape, nil, y, shape), []int{depth[0], depth[2], wide})
}

// sees returns which keys each query sees: [queries, keys], or [batch, 1, queries, keys].
func (a attended) sees(x *site) *value {
	queries, keys := x.size(a.q, 2), x.size(a.k, 2)
	first := x.op(ops.Sub, nil, keys, queries)
	if a.first != nil {
		first = x.reshape(a.first, -1, 1, 1, 1)
	}
	query := x.steps(queries, tensor.Int32, 1)
	at := x.op(ops.AddV2, nil, query, first)
	if a.past != nil {
		last := x.op(ops.Equal, nil, query, x.op(ops.Sub, nil, queries, x.i32(1)))
		at = x.op(ops.SelectV2, nil, last, keys, x.op(ops.AddV2, nil, query, a.past))
	}
	key := x.steps(keys, tensor.Int32, 0)
	sees := x.op(ops.LessEqual, nil, key, at)
	if a.total != nil {
		sees = x.op(ops.LogicalAnd, nil, sees, x.op(ops.Less, nil, key, x.reshape(a.total, -1, 1, 1, 1)))
	}
	if a.window > 0 {
		sees = x.op(ops.LogicalAnd, nil, sees, x.op(ops.Greater, nil, key, x.op(ops.Sub, nil, at, x.i32(a.window))))
	}
	return sees
}

// maskBias is what a mask adds to scores [batch, heads, queries, keys]: 0 where it is 1, and low where it is 0. If it is a vector, it has
// for each row the position after its last key that counts and, in an optional second half, the position of its first key.
func (x *site) maskBias(mask, batch, keys *value, d tensor.DType, low float64) *value {
	mask = x.narrow(mask)
	switch mask.rank() {
	case 1:
		width := x.op(ops.Maximum, nil, x.size(batch, 0), x.i32(1)) // Reshape cannot infer a size beside 0
		places := x.op(ops.Reshape, nil, mask, x.pack(x.i32(-1), width))
		missing := x.op(ops.Sub, nil, x.i32(2), x.size(places, 0)) // negative, and an error, if there are more
		places = x.concat(0, places, x.op(ops.Fill, nil, x.pack(missing, width), x.i32(0)))
		key := x.steps(keys, tensor.Int32, 0)
		before := x.op(ops.Less, nil, key, x.reshape(x.item(places, 0), -1, 1))
		mask = x.cast(x.op(ops.LogicalAnd, nil, before, x.op(ops.GreaterEqual, nil, key, x.reshape(x.item(places, 1), -1, 1))), tensor.Int32)
		mask = x.op(ops.ExpandDims, nil, x.op(ops.ExpandDims, nil, mask, x.i32(1)), x.i32(1))
	case 2:
		mask = x.op(ops.ExpandDims, nil, x.op(ops.ExpandDims, nil, mask, x.i32(1)), x.i32(1))
	case 3:
		mask = x.op(ops.ExpandDims, nil, mask, x.i32(1))
	default:
		refuse("a mask of rank %d (-1: not known)", mask.rank())
	}
	return x.op(ops.SelectV2, nil, x.op(ops.Greater, nil, mask, x.i32(0)), x.scalar(d, 0), x.scalar(d, low))
}

// runtimeAttention makes queries, keys and values from one input. Inputs: X, W, B, mask, past, attention bias.
func runtimeAttention(x *site) []*value {
	if x.flag("do_rotary", false) || x.flag("past_present_share_buffer", false) || x.has(6) {
		refuse("do_rotary, or past_present_share_buffer")
	}
	x.attr("rotary_embedding_dim")
	heads := x.int("num_heads", 0)
	y := x.product(x.at(0), x.at(1))
	if x.has(2) {
		y = x.op(ops.AddV2, nil, y, x.at(2))
	}
	q, k, v := x.threeParts(y, x.intList("qkv_hidden_sizes", nil), heads)
	out := []*value{nil, nil}
	if x.has(4) {
		k, v = x.concat(2, x.item(x.at(4), 0), k), x.concat(2, x.item(x.at(4), 1), v)
	}
	if len(x.n.Outputs) > 1 {
		out[1] = x.op(ops.Pack, graph.Attrs{"axis": int64(0)}, k, v)
	}
	low := x.float("mask_filter_value", -10000)
	a := attended{q: q, k: k, v: v, heads: heads, scale: x.float("scale", 0), causal: x.flag("unidirectional", false)}
	if x.has(3) {
		a.bias = append(a.bias, x.maskBias(x.at(3), x.at(0), x.size(k, 2), y.dtype, low))
	}
	if x.has(5) {
		a.bias = append(a.bias, x.at(5))
	}
	out[0] = a.result(x)
	return out
}

// threeParts splits [batch, length, n] into queries, keys and values of heads; sizes are their widths, nil for equal ones.
func (x *site) threeParts(y *value, sizes []int, heads int) (q, k, v *value) {
	if sizes == nil {
		dims := y.dims()
		if len(dims) != 3 || dims[2] < 3 || dims[2]%3 != 0 {
			refuse("queries, keys and values of shape %v", dims)
		}
		sizes = slices.Repeat([]int{dims[2] / 3}, 3)
	}
	if len(sizes) != 3 {
		refuse("qkv_hidden_sizes %v", sizes)
	}
	parts := x.ops(ops.SplitV, graph.Attrs{"num_split": int64(3), "Tlen": tensor.Int32}, y, x.ints(sizes...), x.i32(2))
	return x.heads(parts[0], heads), x.heads(parts[1], heads), x.heads(parts[2], heads)
}

// multiHeadAttention has inputs Q, K, V, bias, key mask, attention bias, past keys, past values. Where there are other keys than queries,
// unidirectional is what ONNX Runtime's CPU kernel makes of it: query i sees keys up to past+i, and the last query sees all.
func multiHeadAttention(x *site) []*value {
	if !x.has(1) || !x.has(2) || x.rank(0) != 3 || x.has(8) || x.has(9) {
		refuse("packed queries, keys and values, or a buffer for what is past and present")
	}
	heads := x.int("num_heads", 0)
	in := []*value{x.at(0), x.at(1), x.at(2)}
	if x.has(3) {
		widths := make([]int, 3)
		for i, u := range in {
			if dims := u.dims(); len(dims) == 3 {
				widths[i] = dims[2]
			}
		}
		if slices.Contains(widths, 0) || slices.Contains(widths, -1) {
			refuse("a bias of queries, keys and values whose widths are not known")
		}
		bias := x.ops(ops.SplitV, graph.Attrs{"num_split": int64(3), "Tlen": tensor.Int32}, x.at(3), x.ints(widths...), x.i32(0))
		for i := range in {
			in[i] = x.op(ops.AddV2, nil, in[i], bias[i])
		}
	}
	q, k, v := x.heads(in[0], heads), x.heads(in[1], heads), x.heads(in[2], heads)
	past := x.i32(0)
	if x.has(6) && x.has(7) {
		past = x.size(x.at(6), 2)
		k, v = x.concat(2, x.at(6), k), x.concat(2, x.at(7), v)
	}
	low := x.float("mask_filter_value", -10000)
	a := attended{q: q, k: k, v: v, heads: heads, scale: x.float("scale", 0), causal: x.flag("unidirectional", false), past: past}
	if x.has(4) {
		a.bias = append(a.bias, x.maskBias(x.at(4), x.at(0), x.size(k, 2), q.dtype, low))
	}
	if x.has(5) {
		a.bias = append(a.bias, x.at(5))
	}
	return []*value{a.result(x), k, v}
}

// groupQueryAttention has inputs Q, K, V, past keys, past values, the last position of each row, the total length, cosines and sines.
func groupQueryAttention(x *site) []*value {
	for i := 9; i < len(x.in); i++ {
		if x.has(i) {
			refuse("input %d", i)
		}
	}
	if x.flag("smooth_softmax", false) || x.int("qk_output", 0) != 0 {
		refuse("smooth_softmax, or qk_output")
	}
	for _, name := range []string{"k_quant_type", "v_quant_type"} {
		if t := x.str(name, "NONE"); t != "NONE" {
			refuse("%s %s", name, t)
		}
	}
	x.attr("kv_cache_bit_width")
	heads, few := x.int("num_heads", 0), x.int("kv_num_heads", 0)
	q, k, v := x.groups(heads, few)
	if !x.has(3) || !x.has(4) {
		refuse("no past keys and values")
	}
	total := x.plus(x.reshape(x.narrow(x.at(5)), -1), 1) // for each row
	first := x.op(ops.Maximum, nil, x.op(ops.Sub, nil, total, x.size(q, 2)), x.i32(0))
	if x.flag("do_rotary", false) {
		at := x.op(ops.AddV2, nil, x.op(ops.ExpandDims, nil, first, x.i32(1)), x.op(ops.Range, nil, x.i32(0), x.size(q, 2), x.i32(1)))
		angles := func(i int) *value {
			return x.op(ops.ExpandDims, nil, x.op(ops.GatherV2, nil, x.at(i), at, x.i32(0)), x.i32(1))
		}
		interleaved := x.flag("rotary_interleaved", false)
		q, k = x.turned(q, angles(7), angles(8), interleaved), x.turned(k, angles(7), angles(8), interleaved)
	} else {
		x.attr("rotary_interleaved")
	}
	k, v = x.behind(x.at(3), k, first), x.behind(x.at(4), v, first)
	out := []*value{nil, k, v}
	a := attended{q: q, k: k, v: v, heads: heads, scale: x.float("scale", 0), softcap: x.float("softcap", 0), causal: true, window: max(x.int("local_window_size", -1), 0), first: first, total: total}
	if few != heads {
		a.k, a.v = x.shared(k, heads, few), x.shared(v, heads, few)
	}
	out[0] = a.result(x)
	return out
}

// behind writes fresh [batch, heads, length, depth] into past: in each row from its own position first on, with zeros after it.
func (x *site) behind(past, fresh, first *value) *value {
	all := x.transpose(x.concat(2, past, fresh), []int{0, 2, 1, 3})
	n, at := x.size(past, 2), x.op(ops.ExpandDims, nil, first, x.i32(1))
	place := x.steps(x.size(all, 1), tensor.Int32, 0)
	later := x.op(ops.AddV2, nil, n, x.op(ops.Sub, nil, place, at))
	last := x.op(ops.Sub, nil, x.size(all, 1), x.i32(1))
	from := x.op(ops.Minimum, nil, x.op(ops.SelectV2, nil, x.op(ops.Less, nil, place, at), place, later), last)
	sizes := all.dims()
	y := x.op(ops.GatherV2, graph.Attrs{"batch_dims": int64(1)}, all, from, x.i32(1))
	counts := x.op(ops.Less, nil, place, x.op(ops.AddV2, nil, at, x.size(fresh, 2)))
	y = x.op(ops.SelectV2, nil, x.op(ops.ExpandDims, nil, x.op(ops.ExpandDims, nil, counts, x.i32(2)), x.i32(3)), y, x.scalar(y.dtype, 0))
	if sizes != nil {
		y = x.sized(y, sizes)
	}
	return x.transpose(y, []int{0, 2, 1, 3})
}

// groups returns the queries, keys and values of heads, which may be packed in one input.
func (x *site) groups(heads, few int) (q, k, v *value) {
	if x.has(1) && x.has(2) {
		return x.heads(x.at(0), heads), x.heads(x.at(1), few), x.heads(x.at(2), few)
	}
	dims := x.at(0).dims()
	if len(dims) != 3 || dims[2] < 1 || heads < 1 || few < 1 || dims[2]%(heads+2*few) != 0 {
		refuse("%d heads of queries and %d of keys of shape %v", heads, few, dims)
	}
	depth := dims[2] / (heads + 2*few)
	parts := x.ops(ops.SplitV, graph.Attrs{"num_split": int64(3), "Tlen": tensor.Int32}, x.at(0), x.ints(heads*depth, few*depth, few*depth), x.i32(2))
	return x.heads(parts[0], heads), x.heads(parts[1], few), x.heads(parts[2], few)
}

// turned rotates the first elements of heads [batch, heads, length, depth]: cos and sin are [length, half], or [batch, 1, length, half].
func (x *site) turned(u, cos, sin *value, interleaved bool) *value {
	depth, half := u.dims(), cos.dims()
	if len(depth) != 4 || depth[3] < 1 || half == nil || half[len(half)-1] < 1 || 2*half[len(half)-1] > depth[3] {
		refuse("heads of shape %v, cosines of shape %v", depth, half)
	}
	n, d := 2*half[len(half)-1], depth[3]
	part := func(from, to, step int) *value {
		return x.op(ops.StridedSlice, graph.Attrs{"begin_mask": int64(7), "end_mask": int64(7)}, u, x.ints(0, 0, 0, from), x.ints(0, 0, 0, to), x.ints(1, 1, 1, step))
	}
	mul := func(a, b *value) *value { return x.op(ops.Mul, nil, a, b) }
	a, b := part(0, n/2, 1), part(n/2, n, 1)
	if interleaved {
		a, b = part(0, n, 2), part(1, n, 2)
	}
	re, im := x.op(ops.Sub, nil, mul(a, cos), mul(b, sin)), x.op(ops.AddV2, nil, mul(a, sin), mul(b, cos))
	y := x.concat(3, re, im)
	if interleaved {
		lead := x.op(ops.StridedSlice, nil, x.shape(u), x.ints(0), x.ints(3), x.ints(1))
		y = x.sized(x.op(ops.Reshape, nil, x.op(ops.Pack, graph.Attrs{"axis": int64(4)}, re, im), x.concat(0, lead, x.ints(n))), []int{depth[0], depth[1], depth[2], n})
	}
	if n < d {
		y = x.concat(3, y, part(n, d, 1))
	}
	return y
}

// runtimeRotary has inputs X, positions [batch, length] or the first one, cosines and sines [positions, half].
func runtimeRotary(x *site) *value {
	u, cos, sin, at := x.at(0), x.at(2), x.at(3), x.at(1)
	flat, heads := x.rank(0) == 3, x.int("num_heads", 0)
	for _, name := range []string{"rotary_embedding_dim", "scale", "is_packed_batching"} {
		x.attr(name)
	}
	if half := cos.dims(); flat && heads == 0 && len(half) == 2 && half[1] > 0 {
		if dims := u.dims(); dims != nil && dims[2] > 0 {
			heads = dims[2] / (2 * half[1])
		}
	}
	y := x.heads(u, heads)
	if at.length() == 1 {
		at = x.op(ops.AddV2, nil, x.op(ops.Range, nil, x.i32(0), x.size(y, 2), x.i32(1)), x.narrow(x.op(ops.Reshape, nil, at, x.ints())))
	} else if at.rank() != 2 {
		refuse("places of rank %d", at.rank())
	}
	angles := func(v *value) *value {
		v = x.op(ops.GatherV2, nil, v, at, x.i32(0))
		if v.rank() == 3 {
			v = x.op(ops.ExpandDims, nil, v, x.i32(1))
		}
		return v
	}
	y = x.turned(y, angles(cos), angles(sin), x.flag("interleaved", false))
	if flat {
		y = x.sized(x.op(ops.Reshape, nil, x.transpose(y, []int{0, 2, 1, 3}), x.shape(u)), u.dims())
	}
	return y
}

// embedNorm adds the embeddings of words, positions and segments, and normalizes the sum. Inputs: words, segments, the three tables, gamma,
// beta, mask, positions.
func embedNorm(x *site) []*value {
	words := x.at(0)
	sum := x.op(ops.GatherV2, nil, x.at(2), words, x.i32(0))
	at := x.op(ops.Range, nil, x.i32(0), x.size(words, 1), x.i32(1))
	if x.has(8) {
		at = x.at(8)
	}
	sum = x.op(ops.AddV2, nil, sum, x.op(ops.GatherV2, nil, x.at(3), at, x.i32(0)))
	if x.has(1) && x.has(4) {
		sum = x.op(ops.AddV2, nil, sum, x.op(ops.GatherV2, nil, x.at(4), x.at(1), x.i32(0)))
	}
	lengths := x.op(ops.Fill, nil, x.reshape(x.size(words, 0), 1), x.i32(0))
	x.attr("mask_index_type")
	if x.has(7) {
		lengths = x.op(ops.Sum, nil, x.cast(x.at(7), tensor.Int32), x.i32(1))
	}
	y := x.op(ops.Mul, nil, x.standard(sum, x.float("epsilon", 1e-12)), x.at(5))
	if x.has(6) {
		y = x.op(ops.AddV2, nil, y, x.at(6))
	}
	return []*value{y, lengths, sum}
}

// standard scales to mean 0 and variance 1 along the last axis.
func (x *site) standard(u *value, epsilon float64) *value {
	keep := graph.Attrs{"keep_dims": true}
	centered := x.op(ops.Sub, nil, u, x.op(ops.Mean, keep, u, x.i32(-1)))
	variance := x.op(ops.Mean, keep, x.op(ops.Square, nil, centered), x.i32(-1))
	return x.op(ops.Mul, nil, centered, x.op(ops.Rsqrt, nil, x.plus(variance, epsilon)))
}

// skipRMSNorm divides a sum by its root mean square; the sum is the last output.
func skipRMSNorm(x *site) []*value {
	sum := x.op(ops.AddV2, nil, x.at(0), x.at(1))
	if x.has(3) {
		sum = x.op(ops.AddV2, nil, sum, x.at(3))
	}
	return []*value{x.byRoot(sum, x.at(2), x.float("epsilon", 1e-12)), nil, nil, sum}
}

func (x *site) byRoot(u, gamma *value, epsilon float64) *value {
	mean := x.op(ops.Mean, graph.Attrs{"keep_dims": true}, x.op(ops.Square, nil, u), x.i32(-1))
	return x.op(ops.Mul, nil, x.op(ops.Mul, nil, u, x.op(ops.Rsqrt, nil, x.plus(mean, epsilon))), gamma)
}
