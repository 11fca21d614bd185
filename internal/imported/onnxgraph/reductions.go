package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// reduceOperators reduce axes.
var reduceOperators = operators{
	"ReduceSum": reduction(ops.Sum, nil, nil), "ReduceMean": reduction(ops.Mean, nil, nil), "ReduceProd": reduction(ops.Prod, nil, nil),
	"ReduceMax": one(extreme(ops.Max)), "ReduceMin": one(extreme(ops.Min)),
	"ReduceL1": reduction(ops.Sum, ops.Abs, nil), "ReduceL2": reduction(ops.Sum, ops.Square, ops.Sqrt), "ReduceSumSquare": reduction(ops.Sum, ops.Square, nil),
	"ReduceLogSum": reduction(ops.Sum, nil, ops.Log), "ReduceLogSumExp": one(logSumExp),
}

// reduced is the operand of a reduction.
type reduced struct {
	u    *value
	axes *value // nil: nothing is reduced
	keep bool
	last bool // u has its channels last, and so does the result
}

// reduced reads the axes: an attribute or, depending on the version, an input; none means all.
func (x *site) reduced() reduced {
	r := reduced{u: x.at(0), keep: x.flag("keepdims", true)}
	none := x.flag("noop_with_empty_axes", false)
	list, given := x.attr("axes").([]int)
	if x.has(1) {
		switch t, n := x.at(1).fixed(), x.at(1).dims(); {
		case t != nil:
			list, given = intsOf(t), true
		case len(n) == 1 && n[0] > 0:
			r.axes = x.at(1)
			return r
		case len(n) != 1 || n[0] < 0:
			refuse("the number of axes is not known")
		}
	}
	rank := r.u.rank()
	switch {
	case (!given || len(list) == 0) && none:
		return r
	case !given || len(list) == 0:
		list = without(x.rank(0))
	case rank >= 0:
		list = axesOf(list, rank)
	}
	if only := r.u.last != nil && !r.u.out.Valid() && r.u.t == nil; only && (r.keep || len(without(rank, append(slices.Clone(list), 0, 1)...)) == 0) {
		r.last, r.u = r.keep, r.u.last
		for i, a := range list {
			list[i] = lastAxis(a, rank)
		}
	}
	r.axes = x.ints(list...)
	return r
}

// by reduces with an op.
func (x *site) by(d *ops.Def, r reduced, u *value) *value {
	if r.axes == nil {
		return u
	}
	return x.op(d, graph.Attrs{"keep_dims": r.keep}, u, r.axes)
}

// done returns a result in its operand's layout.
func (x *site) done(r reduced, y *value) *value {
	if r.last {
		return x.channelsFirst(y)
	}
	return y
}

// reduction applies an op to each element, reduces, and applies another op to the results.
func reduction(d, before, after *ops.Def) operator {
	return one(func(x *site) *value {
		r := x.reduced()
		y := r.u
		if before != nil {
			y = x.op(before, nil, y)
		}
		if y = x.by(d, r, y); after != nil {
			y = x.op(after, nil, y)
		}
		return x.done(r, y)
	})
}

// extreme returns the largest or smallest element; true is larger than false.
func extreme(d *ops.Def) func(x *site) *value {
	return func(x *site) *value {
		r := x.reduced()
		if r.u.dtype != tensor.Bool {
			return x.done(r, x.by(d, r, r.u))
		}
		return x.done(r, x.cast(x.by(d, r, x.cast(r.u, tensor.Uint8)), tensor.Bool))
	}
}

// logSumExp subtracts the largest element first, so that nothing overflows.
func logSumExp(x *site) *value {
	r := x.reduced()
	if r.axes == nil {
		return r.u
	}
	top := x.op(ops.Max, graph.Attrs{"keep_dims": true}, r.u, r.axes)
	top = x.op(ops.SelectV2, nil, x.op(ops.IsFinite, nil, top), top, x.scalar(r.u.dtype, 0))
	sum := x.by(ops.Sum, r, x.op(ops.Exp, nil, x.op(ops.Sub, nil, r.u, top)))
	if !r.keep {
		top = x.op(ops.Reshape, nil, top, x.op(ops.Shape, nil, sum))
	}
	return x.done(r, x.op(ops.AddV2, nil, x.op(ops.Log, nil, sum), top))
}
