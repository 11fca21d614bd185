package stablehlograph

import (
	"maps"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/stablehlo"
	"github.com/goestimator/goestimator/tensor"
)

// window says how a window slides over dimensions, with one number for each.
type window struct {
	sizes, strides   []int
	low, high        []int // padding
	between, spacing []int // dilations of the operand and of the window
}

// numbersOr returns an attribute that is a list of n numbers; v for each if it is absent.
func (x *site) numbersOr(name string, n, v int) []int {
	all := x.ints(name)
	if all == nil {
		return slices.Repeat([]int{v}, n)
	}
	if len(all) != n {
		refuse("attribute %s of %d numbers: expected %d", name, len(all), n)
	}
	return all
}

// window reads the attributes of a window of n dimensions, whose names differ from operation to operation.
func (x *site) window(sizes []int, between, spacing string) window {
	n := len(sizes)
	w := window{sizes: sizes, strides: x.numbersOr("window_strides", n, 1), between: x.numbersOr(between, n, 1), spacing: x.numbersOr(spacing, n, 1), low: make([]int, n), high: make([]int, n)}
	if pads := x.ints("padding"); pads != nil {
		if len(pads) != 2*n {
			refuse("padding of %d numbers: expected %d", len(pads), 2*n)
		}
		for i := range n {
			w.low[i], w.high[i] = pads[2*i], pads[2*i+1]
		}
	}
	const most = 1 << 24
	for _, v := range slices.Concat(w.sizes, w.strides, w.between, w.spacing) {
		if v < 1 || v > most {
			refuse("a window of sizes %v, strides %v and dilations %v and %v", w.sizes, w.strides, w.between, w.spacing)
		}
	}
	for _, v := range slices.Concat(w.low, w.high) {
		if v > most || v < -most {
			refuse("padding %v and %v", w.low, w.high)
		}
	}
	return w
}

// all reports whether all numbers of a list are v.
func all(list []int, v int) bool {
	return !slices.ContainsFunc(list, func(n int) bool { return n != v })
}

// surrounded pads the window's operand; dims are the dimensions that it slides over.
func (x *site) surrounded(v, with *value, w window, dims []int) *value {
	low, high, between := make([]int, v.rank()), make([]int, v.rank()), make([]int, v.rank())
	for i, d := range dims {
		low[d], high[d], between[d] = w.low[i], w.high[i], w.between[i]-1
	}
	return x.padded(v, with, low, high, between)
}

// listed returns a number for each dimension of images, with channels last.
func listed(v []int) []int64 {
	list := []int64{1}
	for _, n := range v {
		list = append(list, int64(n))
	}
	return append(list, 1)
}

// withPadding returns the operation with a known padding; nil: none.
func (x *site) withPadding(pads *value) *site {
	op := *x.op
	op.Attrs = maps.Clone(x.op.Attrs)
	delete(op.Attrs, "padding")
	if pads != nil {
		numbers, _ := pads.numbers()
		list := make([]any, len(numbers))
		for i, v := range numbers {
			list[i] = int64(v)
		}
		op.Attrs["padding"] = list
	}
	y := *x
	y.op = &op
	return &y
}

// paddedBy pads some dimensions by the rows of pads, which are only known at run time.
func (x *site) paddedBy(v, with, pads *value, dims []int) *value {
	pads = x.cast(pads, tensor.Int32)
	rows, out := make([]*value, v.rank()), slices.Clone(v.dims)
	none := x.reshape(ints(0, 0), 1, 2)
	for d := range rows {
		rows[d] = none
	}
	for i, d := range dims {
		rows[d], out[d] = x.slice(pads, []int{i, 0}, []int{1, 2}), -1
	}
	return x.node(ops.PadV2, out, nil, v, x.concat(0, rows...), with)
}

// maxUnrolled bounds the elements of a window that is computed element by element.
const maxUnrolled = 1024

// reduceWindow reduces the elements at each position of a window.
func reduceWindow(x *site) []*value {
	n := len(x.in) / 2
	if n == 0 || len(x.in) != 2*n {
		refuse("%d operands", len(x.in))
	}
	in, init := x.in[:n], x.in[n:]
	w := x.window(x.ints("window_dimensions"), "base_dilations", "window_dilations")
	if len(w.sizes) != in[0].rank() {
		refuse("a window of %d dimensions for an operand of rank %d", len(w.sizes), in[0].rank())
	}
	return x.windows(x.region(0), in, init, w)
}

// dynamicReduceWindow has its window's numbers as operands, and its region as a function. The padding need not be known.
func dynamicReduceWindow(x *site) []*value {
	called, _ := x.op.Attrs["called_computations"].([]any)
	n := (len(x.in) - 5) / 2
	if len(called) != 1 || n < 1 || len(x.in) != 2*n+5 {
		refuse("%d operands and %d functions", len(x.in), len(called))
	}
	name, _ := called[0].(string)
	f := x.t.functions[name]
	if f == nil {
		refuse("function %q is missing", name)
	}
	in, init, pads := slices.Clone(x.in[:n]), x.in[n:2*n], x.in[len(x.in)-1]
	var numbers [4][]int
	for i := range numbers {
		var ok bool
		if numbers[i], ok = x.in[2*n+i].numbers(); !ok {
			refuse("a window that is not constant")
		}
	}
	op := *x.op
	op.Attrs = map[string]any{}
	for i, name := range []string{"window_dimensions", "window_strides", "base_dilations", "window_dilations"} {
		list := make([]any, len(numbers[i]))
		for k, v := range numbers[i] {
			list[k] = int64(v)
		}
		op.Attrs[name] = list
	}
	y := *x
	y.op = &op
	z := &y
	if _, ok := pads.numbers(); ok {
		z = y.withPadding(pads)
	} else {
		for i, v := range in {
			in[i] = x.paddedBy(v, init[i], pads, without(v.rank()))
		}
	}
	w := z.window(numbers[0], "base_dilations", "window_dilations")
	if len(w.sizes) != in[0].rank() {
		refuse("a window of %d dimensions for an operand of rank %d", len(w.sizes), in[0].rank())
	}
	return z.windows(f.Body, in, init, w)
}

// windows reduces by a region.
func (x *site) windows(r *stablehlo.Region, in, init []*value, w window) []*value {
	kind := only(r)
	if len(in) == 1 {
		if y := x.running(kind, in[0], init[0], w); y != nil {
			return []*value{y}
		}
		if y := x.pooled(kind, in[0], init[0], w); y != nil {
			return []*value{y}
		}
	}
	return x.unrolled(r, in, init, w)
}

// pooled is a reduction of images by a pool; nil if there is none.
func (x *site) pooled(kind string, v, init *value, w window) *value {
	n := v.rank() - 2
	if v.dtype != tensor.Float32 || n != 2 && n != 3 || !neutral(kind, init) || kind != "add" && kind != "maximum" || !all(w.spacing, 1) || w.sizes[0] != 1 || w.sizes[n+1] != 1 ||
		w.strides[0] != 1 || w.strides[n+1] != 1 || w.low[0]|w.high[0]|w.low[n+1]|w.high[n+1] != 0 || w.between[0] != 1 || w.between[n+1] != 1 {
		return nil
	}
	u := x.surrounded(v, init, w, without(v.rank()))
	attrs := graph.Attrs{"ksize": listed(w.sizes[1 : n+1]), "strides": listed(w.strides[1 : n+1]), "padding": []byte("VALID")}
	d := map[string]*ops.Def{"add": ops.AvgPool, "maximum": ops.MaxPool}[kind]
	if n == 3 {
		d = map[string]*ops.Def{"add": ops.AvgPool3D, "maximum": ops.MaxPool3D}[kind]
	}
	y := x.node(d, x.result(0).Dims, attrs, u)
	if kind == "add" {
		count := 1
		for _, s := range w.sizes {
			count *= s
		}
		return x.each(ops.Mul, nil, y, scalar(v.dtype, float64(count)))
	}
	y = x.each(ops.SelectV2, nil, x.each(ops.LessEqual, nil, y, scalar(v.dtype, -math.MaxFloat32)), init, y) // a max pool of -Inf is the lowest number
	means := map[int]*ops.Def{2: ops.AvgPool, 3: ops.AvgPool3D}[n]
	lost := x.node(means, x.result(0).Dims, attrs, x.each(ops.SelectV2, nil, x.each(ops.IsNan, nil, u), u, scalar(v.dtype, 0)))
	return x.each(ops.SelectV2, nil, x.each(ops.IsNan, nil, lost), lost, y) // max pools ignore NaN
}

// running is a window over all elements up to, or from, each one: a running sum or product; nil for other windows.
func (x *site) running(kind string, v, init *value, w window) *value {
	d := map[string]*ops.Def{"add": ops.Cumsum, "multiply": ops.Cumprod}[kind]
	if d == nil || v.dtype == tensor.Bool || !neutral(kind, init) || !all(w.strides, 1) || !all(w.between, 1) || !all(w.spacing, 1) {
		return nil
	}
	axis := -1
	for i, s := range w.sizes {
		switch {
		case s == 1 && w.low[i] == 0 && w.high[i] == 0:
		case axis < 0 && s == v.dims[i] && w.low[i]+w.high[i] == s-1 && w.low[i]*w.high[i] == 0:
			axis = i
		default:
			return nil
		}
	}
	if axis < 0 {
		return nil
	}
	return x.node(d, v.dims, graph.Attrs{"exclusive": false, "reverse": w.low[axis] == 0}, v, scalar(tensor.Int32, float64(axis)))
}

// unrolled combines the elements of the window one after the other, for all positions at once.
func (x *site) unrolled(r *stablehlo.Region, in, init []*value, w window) []*value {
	count := 1
	for _, s := range w.sizes {
		if count *= s; count > maxUnrolled {
			refuse("a window of more than %d elements", maxUnrolled)
		}
	}
	n := len(w.sizes)
	padded := make([]*value, len(in))
	for i, v := range in {
		padded[i] = x.surrounded(v, init[i], w, without(n))
		for d, size := range padded[i].dims {
			if size < 0 && (w.sizes[d] != 1 || w.strides[d] != 1) {
				refuse("a window along a size that is open, which no pool is")
			}
		}
	}
	now := slices.Clone(init)
	for k := range count {
		part := make([]*value, len(in))
		for i, v := range padded {
			part[i] = x.windowPart(v, w, k, x.result(i).Dims)
		}
		now = x.apply(r, append(slices.Clone(now), part...)...)
	}
	return now
}

// windowPart returns element k of the window at all positions.
func (x *site) windowPart(v *value, w window, k int, dims []int) *value {
	n := len(w.sizes)
	begin, end, mask := make([]int, n), make([]int, n), 0
	for i := n - 1; i >= 0; i-- {
		begin[i] = k % w.sizes[i] * w.spacing[i]
		k /= w.sizes[i]
		if dims[i] < 0 {
			mask |= 1 << i
			continue
		}
		end[i] = begin[i] + (dims[i]-1)*w.strides[i] + 1
		if dims[i] == 0 {
			end[i] = begin[i]
		}
	}
	attrs := graph.Attrs{"begin_mask": int64(0), "end_mask": int64(mask), "ellipsis_mask": int64(0), "new_axis_mask": int64(0), "shrink_axis_mask": int64(0)}
	return x.node(ops.StridedSlice, dims, attrs, v, ints(begin...), ints(end...), ints(w.strides...))
}

// selectAndScatter adds each element of a source at the largest element of its window, the first of equal ones: the gradient of a max pool.
func selectAndScatter(x *site) *value {
	v, source, init := x.at(0), x.at(1), x.at(2)
	w := x.window(x.ints("window_dimensions"), "base_dilations", "window_dilations")
	if len(x.op.Regions) != 2 || v.rank() != 4 || len(w.sizes) != 4 || v.dtype != tensor.Float32 || only(x.region(1)) != "add" || !neutral("add", init) || w.sizes[0]|w.sizes[3]|w.strides[0]|w.strides[3] != 1 ||
		w.low[0]|w.high[0]|w.low[3]|w.high[3] != 0 {
		refuse("a window of %v with strides %v, or regions, that are no gradient of a maximum pool of images with their channels last, in float32", w.sizes, w.strides)
	}
	for _, c := range [][3]float64{{1, 2, 0}, {2, 1, 1}, {1, 1, 1}} {
		if x.ask(x.region(0), scalar(v.dtype, c[0]), scalar(v.dtype, c[1])).Int(0) != int64(c[2]) {
			refuse("a region that does not select the largest element")
		}
	}
	u := x.surrounded(v, scalar(v.dtype, math.Inf(-1)), w, without(4))
	attrs := graph.Attrs{"ksize": listed(w.sizes[1:3]), "strides": listed(w.strides[1:3]), "padding": []byte("VALID")}
	y := x.node(ops.MaxPoolGrad, u.dims, attrs, u, x.node(ops.MaxPool, source.dims, attrs, u), source)
	low, high := make([]int, 4), make([]int, 4)
	for i := range low {
		low[i], high[i] = -w.low[i], -w.high[i]
	}
	return x.padded(y, init, low, high, make([]int, 4))
}
