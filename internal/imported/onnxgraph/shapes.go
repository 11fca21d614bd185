package onnxgraph

import (
	"cmp"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// shapeOperators change shapes, and make tensors from shapes.
var shapeOperators = operators{
	"Reshape": one(reshape), "Flatten": one(flatten), "Squeeze": one(squeeze), "Unsqueeze": one(unsqueeze), "Transpose": one(transposed), "Concat": one(concat),
	"Split": as(split), "Expand": one(expand), "Tile": one(tile), "Shape": one(shapeOf), "Size": one(sizeOf), "Constant": one(constantNode).but("sparse tensors"),
	"ConstantOfShape": one(constantOfShape), "Range": one(rangeOf), "Pad": one(padNode), "DepthToSpace": one(depthToSpace), "SpaceToDepth": one(spaceToDepth),
	"EyeLike": one(eyeLike), "Trilu": one(trilu),
}

// maxDims bounds the rank of tensors.
const maxDims = 64

// reshape: a 0 keeps the input's size there, unless allowzero is set.
func reshape(x *site) *value {
	u := x.at(0)
	zero := x.flag("allowzero", false)
	var target *value
	if x.version < 5 {
		target = x.ints(x.intList("shape", nil)...)
	} else {
		target = x.at(1)
	}
	if n := target.dims(); len(n) == 1 && n[0] > maxDims {
		refuse("a shape of %d dimensions: expected at most %d", n[0], maxDims)
	}
	if zero {
		y := x.op(ops.Reshape, nil, u, target)
		if n := target.dims(); len(n) == 1 && n[0] >= 0 {
			return x.sized(y, slices.Repeat([]int{-1}, n[0]))
		}
		return y
	}
	if t := target.fixed(); t != nil {
		return x.reshaped(u, intsOf(t))
	}
	n, rank := target.length(), x.rank(0)
	if n < 0 {
		refuse("the rank of the result is not known")
	}
	have := x.cast(x.shape(u), target.dtype)
	if n <= rank {
		have = x.op(ops.StridedSlice, nil, have, x.ints(0), x.ints(n), x.ints(1))
	} else {
		have = x.concat(0, have, x.cast(x.ints(make([]int, n-rank)...), target.dtype))
	}
	y := x.op(ops.Reshape, nil, u, x.each(ops.SelectV2, nil, x.each(ops.Equal, nil, target, x.scalar(target.dtype, 0)), have, target))
	return x.sized(y, slices.Repeat([]int{-1}, n))
}

// sized notes the sizes of a value, -1 for open ones, if the assumptions led to nothing.
func (b *builder) sized(y *value, sizes []int) *value {
	if y.rank() >= 0 && !y.rankAlone {
		return y
	}
	y.rankAlone = false
	said := onnx.Value{Name: y.out.String()}
	for _, n := range sizes {
		said.Dims = append(said.Dims, onnx.Dim{Size: n})
	}
	y.known = b.t.assumed(said)
	for i, n := range sizes { // sizes known only from data may be 0, or 1
		if n < 0 && y.known[0].Known {
			y.known[0].Shape[i], y.known[1].Shape[i] = 0, 1
		}
	}
	return y
}

// reshaped gives u a shape; a size of 0 keeps u's own.
func (x *site) reshaped(u *value, shape []int) *value {
	dims := u.dims()
	var parts []*value
	fixed, sizes := true, slices.Clone(shape)
	for i, n := range shape {
		if n == 0 {
			if i >= u.rank() {
				refuse("size %d of shape %v is that of the input, of rank %d", i, shape, u.rank())
			}
			if n = -1; dims != nil {
				n = dims[i]
			}
			if sizes[i] = n; n < 0 {
				fixed = false
				parts = append(parts, x.size(u, i))
				continue
			}
		}
		parts = append(parts, x.i32(n))
	}
	if fixed && len(parts) == 0 {
		return x.op(ops.Reshape, nil, u, x.ints())
	}
	return x.sized(x.op(ops.Reshape, nil, u, x.pack(parts...)), sizes)
}

func flatten(x *site) *value {
	rank := x.rank(0)
	axis := x.int("axis", 1)
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis > rank {
		refuse("axis %d of rank %d", axis, rank)
	}
	return x.flat(x.at(0), axis)
}

// flat returns a matrix whose rows have all axes from the given one on.
func (x *site) flat(u *value, axis int) *value {
	dims := u.dims()
	rows, columns := 1, 1
	for i, n := range dims {
		at := &rows
		if i >= axis {
			at = &columns
		}
		if *at *= n; n < 0 || *at < 0 {
			*at = -1 << 31
		}
	}
	known := func(n int) bool { return n >= 0 }
	switch {
	case known(rows) && known(columns):
		return x.reshape(u, rows, columns)
	case columns > 0:
		return x.reshape(u, -1, columns)
	case rows > 0:
		return x.reshape(u, rows, -1)
	}
	lead := x.op(ops.Prod, nil, x.op(ops.StridedSlice, nil, x.shape(u), x.ints(0), x.ints(axis), x.ints(1)), x.i32(0))
	return x.op(ops.Reshape, nil, u, x.pack(lead, x.i32(-1)))
}

// squeeze: an empty list of axes means all of size 1, as none does.
func squeeze(x *site) *value {
	axes := x.intsOr("axes", 1, nil)
	attrs := graph.Attrs{}
	if len(axes) > 0 {
		if x.at(0).rank() >= 0 || slices.ContainsFunc(axes, func(a int) bool { return a < 0 }) {
			axes = axesOf(axes, x.rank(0))
		}
		list := make([]int64, len(axes))
		for i, a := range axes {
			list[i] = int64(a)
		}
		attrs["squeeze_dims"] = list
	}
	y := x.op(ops.Squeeze, attrs, x.at(0))
	if len(axes) == 0 && y.t == nil && openAxes(x.at(0)) > 1 { // any of them may be 1, so the rank is not known
		y.known = probes{}
	}
	return y
}

// openAxes returns how many sizes of a value are open.
func openAxes(v *value) (n int) {
	for _, d := range v.dims() {
		if d < 0 {
			n++
		}
	}
	return n
}

func unsqueeze(x *site) *value {
	y := x.at(0)
	axes := slices.Clone(x.intsOr("axes", 1, nil))
	rank := y.rank()
	for i, a := range axes {
		if a < 0 && rank >= 0 {
			if axes[i] = a + rank + len(axes); axes[i] < 0 {
				refuse("axis %d of a result of rank %d", a, rank+len(axes))
			}
		}
	}
	if max(rank, 0)+len(axes) > maxDims {
		refuse("%d axes: expected results of at most %d dimensions", len(axes), maxDims)
	}
	// Where the rank is not known, axes that count from the end are made from the last one on.
	slices.SortFunc(axes, func(a, b int) int {
		if a < 0 && b < 0 {
			return cmp.Compare(b, a)
		}
		return cmp.Compare(uint(a), uint(b))
	})
	if len(slices.Compact(slices.Clone(axes))) < len(axes) {
		refuse("axes %v", axes)
	}
	for _, a := range axes {
		y = x.op(ops.ExpandDims, nil, y, x.i32(a))
	}
	return y
}

// transposed: putting channels last or first is free if the value exists in that layout.
func transposed(x *site) *value {
	u := x.at(0)
	perm := x.intList("perm", nil)
	rank := len(perm)
	if perm == nil {
		rank = x.rank(0)
		perm = without(rank)
		slices.Reverse(perm)
	}
	if rank >= 3 && u.last != nil && slices.Equal(perm, toLast(rank)) {
		return u.last
	}
	if rank >= 3 && slices.Equal(perm, fromLast(rank)) && u.t == nil && u.rank() == rank {
		return x.channelsFirst(x.plain(u))
	}
	return x.transpose(u, perm)
}

// lastAxis returns the index of an axis once the channels are last.
func lastAxis(axis, rank int) int { return inverse(toLast(rank))[axis] }

func concat(x *site) *value {
	var in []*value
	for i := range x.in {
		in = append(in, x.at(i))
	}
	axis := x.int("axis", 1)
	if axis < 0 {
		axis = axisOf(axis, x.rank(0))
	}
	alike := !slices.ContainsFunc(in, func(v *value) bool { return v.rank() != in[0].rank() })
	if alike && inLast(in) {
		return x.channelsFirst(x.concat(lastAxis(axis, in[0].rank()), x.aligned(in)...))
	}
	return x.concat(axis, in...)
}

func split(x *site) []*value {
	u, rank := x.at(0), x.rank(0)
	axis := axisOf(x.int("axis", 0), rank)
	n := len(x.n.Outputs)
	if want := x.int("num_outputs", n); want != n {
		refuse("num_outputs %d of a node with %d outputs", want, n)
	}
	sizes := x.intsOr("split", 1, nil)
	if dims := u.dims(); sizes == nil && dims[axis] > 0 {
		each := (dims[axis] + n - 1) / n
		for i := range n {
			sizes = append(sizes, max(min(each, dims[axis]-i*each), 0))
		}
	}
	if sizes == nil && x.n.Attrs["num_outputs"] != nil && !u.divides(axis, n) {
		return x.ops(ops.SplitV, graph.Attrs{"num_split": int64(n), "Tlen": tensor.Int32}, u, x.nearlyEven(x.size(u, axis), n), x.i32(axis))
	}
	if sizes == nil {
		return x.ops(ops.Split, graph.Attrs{"num_split": int64(n)}, x.i32(axis), u)
	}
	if len(sizes) != n {
		refuse("sizes %v of %d outputs", sizes, n)
	}
	attrs := graph.Attrs{"num_split": int64(n), "Tlen": tensor.Int32}
	if u.last == nil || u.out.Valid() || u.t != nil {
		return x.ops(ops.SplitV, attrs, u, x.ints(sizes...), x.i32(axis))
	}
	parts := x.ops(ops.SplitV, attrs, u.last, x.ints(sizes...), x.i32(lastAxis(axis, rank)))
	for i, p := range parts {
		parts[i] = x.channelsFirst(p)
	}
	return parts
}

// divides reports whether all assumptions lead to a size that is n times a whole number.
func (v *value) divides(axis, n int) bool {
	for _, k := range v.known {
		if k.Known && k.Shape[axis]%n != 0 {
			return false
		}
	}
	return v.rank() >= 0
}

// nearlyEven are the sizes of n parts that are alike, but for the last ones, which are smaller or empty.
func (x *site) nearlyEven(size *value, n int) *value {
	each := x.op(ops.TruncateDiv, nil, x.op(ops.AddV2, nil, size, x.i32(n-1)), x.i32(n))
	begins := x.op(ops.Mul, nil, x.ints(without(n)...), each)
	return x.op(ops.Maximum, nil, x.op(ops.Minimum, nil, each, x.op(ops.Sub, nil, size, begins)), x.i32(0))
}

func expand(x *site) *value {
	u, target := x.at(0), x.at(1)
	have := x.cast(x.shape(u), target.dtype)
	y := x.op(ops.BroadcastTo, nil, u, x.op(ops.BroadcastArgs, nil, have, target))
	if rank, n := u.rank(), target.length(); rank >= 0 && n >= 0 {
		return x.sized(y, slices.Repeat([]int{-1}, max(rank, n)))
	}
	return y
}

func tile(x *site) *value { return x.op(ops.Tile, nil, x.at(0), x.at(1)) }

// shapeOf returns the shape, or the part from start to end.
func shapeOf(x *site) *value {
	u := x.at(0)
	v := x.cast(x.shape(u), tensor.Int64)
	start, end := x.int("start", 0), x.n.Attrs["end"]
	x.attr("end")
	if start == 0 && end == nil {
		return v
	}
	attrs, to := graph.Attrs{}, 0
	if e, ok := end.(int); ok {
		to = e
	} else {
		attrs["end_mask"] = int64(1)
	}
	return x.op(ops.StridedSlice, attrs, v, x.ints(start), x.ints(to), x.ints(1))
}

func sizeOf(x *site) *value {
	return x.op(ops.Prod, nil, x.cast(x.shape(x.at(0)), tensor.Int64), x.i32(0))
}

// constantNode has one of several attributes.
func constantNode(x *site) *value {
	for name := range x.n.Attrs {
		switch v := x.attr(name).(type) {
		case *tensor.Tensor:
			return constant(v)
		case float32:
			return constant(tensor.Scalar(v))
		case int:
			return constant(tensor.Scalar(int64(v)))
		case []float32:
			t, _ := tensor.FromSlice(v, len(v))
			return constant(t)
		case []int:
			t := tensor.New(tensor.Int64, len(v))
			for i, n := range v {
				tensor.Values[int64](t)[i] = int64(n)
			}
			return constant(t)
		case string:
			t, _ := tensor.FromStrings([][]byte{[]byte(v)})
			return constant(t)
		case []string:
			list := make([][]byte, len(v))
			for i, s := range v {
				list[i] = []byte(s)
			}
			t, _ := tensor.FromStrings(list, len(v))
			return constant(t)
		}
		refuse("attribute %s", name)
	}
	refuse("it has no value")
	return nil
}

func constantOfShape(x *site) *value {
	v := tensor.New(tensor.Float32, 1)
	if t := x.tensorOf("value"); t != nil {
		v = t
	}
	return x.op(ops.Fill, nil, x.at(0), x.reshape(constant(v)))
}

func rangeOf(x *site) *value {
	d := x.at(0).dtype
	half := d.Half()
	if x.attr("stash_type"); half && x.dtype("stash_type", tensor.Float32) != tensor.Float32 {
		refuse("stash_type %v", x.dtype("stash_type", tensor.Float32))
	}
	var in []*value
	for i := range 3 {
		v := x.at(i)
		if d == tensor.Int16 {
			v = x.cast(v, tensor.Int32)
		} else if half {
			v = x.cast(v, tensor.Float32)
		}
		in = append(in, x.op(ops.Reshape, nil, v, x.ints()))
	}
	attrs := graph.Attrs{}
	if d.Float() {
		attrs[ops.Divides] = true
	}
	return x.cast(x.op(ops.Range, attrs, in[0], x.limit(in[0], in[1], in[2]), in[2]), d)
}

// isSize reports whether a scalar follows from sizes, and no assumption leads to a number that is negative. Some may lead to nothing: see length.
func (v *value) isSize() bool {
	for _, k := range v.known {
		if k.Known && (k.T == nil || k.T.Len() != 1 || k.T.Float(0) < 0) {
			return false
		}
	}
	return v.knownTwice()
}

// limit returns where a range ends. If steps lead away from the limit, that is its start, as TensorFlow refuses such ranges. Ranges that
// ascend from 0 to a size are not checked.
func (x *site) limit(start, limit, step *value) *value {
	from, known := constantOf(start)
	by, too := constantOf(step)
	switch {
	case known && too && from == 0 && by > 0 && limit.isSize():
		return limit
	case too && by > 0:
		return x.op(ops.Maximum, nil, start, limit)
	}
	zero := x.scalar(step.dtype, 0)
	return x.op(ops.SelectV2, nil, x.op(ops.Less, nil, step, zero), x.op(ops.Minimum, nil, start, limit), x.op(ops.Maximum, nil, start, limit))
}

// steps returns the numbers from 0 to n-1, as a column or a row.
func (x *site) steps(n *value, d tensor.DType, axis int) *value {
	return x.op(ops.ExpandDims, nil, x.cast(x.op(ops.Range, nil, x.i32(0), n, x.i32(1)), d), x.i32(axis))
}

func eyeLike(x *site) *value {
	u := x.at(0)
	d := x.dtype("dtype", u.dtype)
	off := x.op(ops.Sub, nil, x.steps(x.size(u, 1), tensor.Int32, 0), x.steps(x.size(u, 0), tensor.Int32, 1))
	return x.cast(x.op(ops.Equal, nil, off, x.i32(x.int("k", 0))), d)
}

// trilu keeps the upper or lower triangle of matrices.
func trilu(x *site) *value {
	u, rank := x.at(0), x.rank(0)
	k := constant(tensor.Scalar(int64(0)))
	if x.has(1) {
		k = x.op(ops.Reshape, nil, x.at(1), x.ints())
	}
	off := x.op(ops.Sub, nil, x.steps(x.size(u, rank-1), tensor.Int64, 0), x.steps(x.size(u, rank-2), tensor.Int64, 1))
	keep := ops.LessEqual
	if x.flag("upper", true) {
		keep = ops.GreaterEqual
	}
	return x.op(ops.SelectV2, nil, x.op(keep, nil, off, k), u, constant(tensor.New(u.dtype)))
}
