package stablehlograph

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/stablehlo"
	"github.com/goestimator/goestimator/tensor"
)

// reducers has the ops of reductions by the region's operation.
var reducers = map[string]*ops.Def{"add": ops.Sum, "multiply": ops.Prod, "maximum": ops.Max, "minimum": ops.Min}

// boolReducers are the reducers for bools.
var boolReducers = map[string]*ops.Def{"and": ops.All, "or": ops.Any, "minimum": ops.All, "maximum": ops.Any, "add": ops.Any, "multiply": ops.All}

// combiners has the ops on two operands by the region's operation.
var combiners = map[string]*ops.Def{"add": ops.AddV2, "multiply": ops.Mul, "maximum": ops.Maximum, "minimum": ops.Minimum, "and": ops.LogicalAnd, "or": ops.LogicalOr}

// reduce has operands, and an initial value for each.
func reduce(x *site) []*value {
	n := len(x.in) / 2
	if n == 0 || len(x.in) != 2*n {
		refuse("%d operands", len(x.in))
	}
	in, init := x.in[:n], x.in[n:]
	axes := slices.Clone(x.ints("dimensions"))
	slices.Sort(axes)
	for i, a := range axes {
		if a < 0 || a >= in[0].rank() || i > 0 && axes[i-1] == a {
			refuse("dimensions %v of rank %d", axes, in[0].rank())
		}
	}
	if len(axes) == 0 {
		return x.apply(x.region(0), append(slices.Clone(init), in...)...)
	}
	r := x.region(0)
	if n == 1 {
		if y := x.reduced(only(r), in[0], init[0], axes); y != nil {
			return []*value{y}
		}
	}
	if n == 2 && len(axes) == 1 {
		if all := x.extremePlace(r, in, init, axes[0]); all != nil {
			return all
		}
	}
	return x.folded(r, in, init, axes)
}

// reduced is a reduction by a single op; nil if there is none.
func (x *site) reduced(kind string, v, init *value, axes []int) *value {
	d := reducers[kind]
	if v.dtype == tensor.Bool {
		d = boolReducers[kind]
	}
	if d == nil {
		return nil
	}
	dims := at(v.dims, without(v.rank(), axes...))
	work := v
	if v.dtype.Half() { // sum in float32, to round once
		work = x.cast(v, tensor.Float32)
	}
	y := x.cast(x.node(d, dims, graph.Attrs{"keep_dims": false}, work, ints(axes...)), v.dtype)
	if neutral(kind, init) {
		return y
	}
	c := combiners[kind]
	if v.dtype == tensor.Bool {
		c = map[*ops.Def]*ops.Def{ops.All: ops.LogicalAnd, ops.Any: ops.LogicalOr}[d]
	}
	return x.each(c, nil, y, init)
}

// neutral reports whether combining with a number changes nothing.
func neutral(kind string, init *value) bool {
	t := init.t
	if t == nil || t.Len() != 1 || isComplex(t.DType) {
		return false
	}
	if t.DType == tensor.Bool {
		return (t.Int(0) != 0) == (kind == "and" || kind == "minimum" || kind == "multiply")
	}
	v := t.Float(0)
	switch {
	case kind == "add":
		return v == 0
	case kind == "multiply":
		return v == 1
	case t.DType.Float():
		return kind == "maximum" && math.IsInf(v, -1) || kind == "minimum" && math.IsInf(v, 1)
	}
	return string(t.Bytes) == string(limit(t.DType, kind == "minimum").t.Bytes)
}

// extremePlace returns the largest or smallest element along an axis, the first of equal ones, with its index; nil if the region does
// something else. NaN wins.
func (x *site) extremePlace(r *stablehlo.Region, in, init []*value, axis int) []*value {
	v, beside := in[0], in[1]
	if !v.dtype.Float() && !isInteger(v.dtype) || !isInteger(beside.dtype) || beside.along != axis+1 {
		return nil
	}
	largest, ok := x.places(r, v.dtype, beside.dtype)
	if !ok || init[1].t == nil || init[1].t.Int(0) != 0 || !neutral(map[bool]string{true: "maximum", false: "minimum"}[largest], init[0]) {
		return nil
	}
	key := x.key(v, largest)
	d := ops.ArgMin
	if largest {
		d = ops.ArgMax
	}
	dims := at(v.dims, without(v.rank(), axis))
	place := x.node(d, dims, graph.Attrs{"output_type": tensor.Int32}, key, scalar(tensor.Int32, float64(axis)))
	kind := "minimum"
	if largest {
		kind = "maximum"
	}
	return []*value{x.reduced(kind, v, init[0], []int{axis}), x.cast(place, beside.dtype)}
}

// places finds out whether a region chooses the larger or the smaller of two elements, and the smaller index of equal ones.
func (x *site) places(r *stablehlo.Region, d, places tensor.DType) (largest, ok bool) {
	if len(r.Args) != 4 {
		return false, false
	}
	samples := []float64{-2, 0, 1, 3}
	if d.Float() {
		samples = append(samples, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1))
	}
	if unsigned(d) {
		samples = samples[1:]
	}
	var a, b, i, j []float64
	for _, u := range samples {
		for _, w := range samples {
			for _, first := range []float64{1, 2} {
				a, b, i, j = append(a, u), append(b, w), append(i, first), append(j, 3-first)
			}
		}
	}
	out := x.apply(r, vector(d, a...), vector(places, i...), vector(d, b...), vector(places, j...))
	if len(out) != 2 || out[1].t == nil {
		return false, false
	}
	for _, largest := range []bool{true, false} {
		same := true
		for k := range a {
			left := a[k] > b[k] == largest && a[k] != b[k] && !math.IsNaN(b[k]) || a[k] == b[k] && i[k] < j[k] || math.IsNaN(a[k])
			want := j[k]
			if left {
				want = i[k]
			}
			same = same && out[1].t.Float(k) == want
		}
		if same {
			return largest, true
		}
	}
	return false, false
}

// folded combines the elements along axes one after the other.
func (x *site) folded(r *stablehlo.Region, in, init []*value, axes []int) []*value {
	rest := without(in[0].rank(), axes...)
	steps := 1
	for _, d := range at(in[0].dims, axes) {
		if d < 0 {
			refuse("a reduction by a region of its own along a size that is open")
		}
		steps *= d
	}
	dims := at(in[0].dims, rest)
	var rows, now []*value
	for i, v := range in {
		moved := x.transpose(v, append(slices.Clone(axes), rest...)...)
		shape := append([]int{steps}, dims...)
		row := x.node(ops.Reshape, shape, nil, moved, x.shapeFrom(shape, x.restSizes(v, rest)...))
		rows = append(rows, row)
		now = append(now, x.whole(x.spread(init[i], dims, x.shapeFrom(dims, x.restSizes(v, rest)...))))
	}
	at := func(b *builder, v, i *value) *value {
		return b.node(ops.GatherV2, v.dims[1:], nil, v, i, scalar(tensor.Int32, 0))
	}
	first := append([]*value{scalar(tensor.Int32, 0)}, now...)
	out := x.loop(first, func(x *site, now []*value) *value {
		return x.each(ops.Less, nil, now[0], scalar(tensor.Int32, float64(steps)))
	}, func(x *site, now []*value) []*value {
		args := slices.Clone(now[1:])
		for _, v := range rows {
			args = append(args, at(x.builder, v, now[0]))
		}
		next := x.apply(r, args...)
		for i, v := range next {
			if v.rank() == 0 && i < len(now)-1 { // the same for all rows
				next[i] = x.spread(v, dims, x.sizes(now[i+1]))
			}
		}
		return append([]*value{x.each(ops.AddV2, nil, now[0], scalar(tensor.Int32, 1))}, next...)
	})
	return out[1:]
}

// restSizes returns the open sizes of some dimensions.
func (b *builder) restSizes(v *value, rest []int) (all []*value) {
	for _, d := range rest {
		if v.dims[d] < 0 {
			all = append(all, b.size(v, d))
		}
	}
	return all
}

// key maps a value to integers of the same order, in which equal numbers are equal. NaN becomes the largest, or the smallest.
func (x *site) key(v *value, largest bool) *value {
	if isInteger(v.dtype) {
		return v
	}
	zero := scalar(v.dtype, 0)
	k := x.ordered(x.each(ops.SelectV2, nil, x.each(ops.Equal, nil, v, zero), zero, v))
	return x.each(ops.SelectV2, nil, x.each(ops.IsNan, nil, v), limit(k.dtype, largest), k)
}
