package onnxgraph

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// activationOperators are activation functions.
var activationOperators = operators{
	"Relu":      one(relu),
	"LeakyRelu": one(leakyRelu), "Elu": one(elu), "Selu": one(selu), "Celu": one(celu), "ThresholdedRelu": one(thresholdedRelu),
	"HardSigmoid": one(hardSigmoid), "HardSwish": one(hardSwish), "Mish": one(mish), "Gelu": one(gelu), "Swish": one(quickGeluOf(1)), "SwiGLU": one(swiGLU), "Shrink": one(shrink),
	"Softmax": one(softmax(ops.Softmax)), "LogSoftmax": one(softmax(ops.LogSoftmax)), "Hardmax": one(hardmax),
}

func relu(x *site) *value {
	u := x.at(0)
	if !u.dtype.Float() {
		return x.arithmetic(ops.Maximum, u, x.scalar(u.dtype, 0))
	}
	return x.each(ops.Relu, nil, u)
}

func leakyRelu(x *site) *value {
	u := x.at(0)
	return x.each(ops.LeakyRelu, graph.Attrs{"alpha": float32(x.float("alpha", 0.01))}, u)
}

// pieces is below where an element is negative, else the element.
func (x *site) pieces(u, below *value) *value {
	return x.each(ops.SelectV2, nil, x.each(ops.Less, nil, u, x.scalar(u.dtype, 0)), below, u)
}

func (x *site) times(u *value, by float64) *value {
	if by == 1 {
		return u
	}
	return x.each(ops.Mul, nil, u, x.scalar(u.dtype, by))
}

func (x *site) plus(u *value, by float64) *value {
	if by == 0 {
		return u
	}
	return x.each(ops.AddV2, nil, u, x.scalar(u.dtype, by))
}

func elu(x *site) *value {
	u, alpha := x.at(0), x.float("alpha", 1)
	if alpha == 1 {
		return x.each(ops.Elu, nil, u)
	}
	return x.pieces(u, x.times(x.each(ops.Expm1, nil, u), alpha))
}

// The defaults of Selu.
const seluAlpha, seluGamma = 1.67326319217681884765625, 1.05070102214813232421875

func selu(x *site) *value {
	u, alpha, gamma := x.at(0), x.float("alpha", seluAlpha), x.float("gamma", seluGamma)
	return x.times(x.pieces(u, x.times(x.each(ops.Expm1, nil, u), alpha)), gamma)
}

func celu(x *site) *value {
	u, alpha := x.at(0), x.float("alpha", 1)
	return x.pieces(u, x.times(x.each(ops.Expm1, nil, x.times(u, 1/alpha)), alpha))
}

func thresholdedRelu(x *site) *value {
	u, alpha := x.at(0), x.float("alpha", 1)
	return x.each(ops.SelectV2, nil, x.each(ops.Greater, nil, u, x.scalar(u.dtype, alpha)), u, x.scalar(u.dtype, 0))
}

// bounded clamps elements to [low, high].
func (x *site) bounded(u *value, low, high float64) *value {
	return x.each(ops.Minimum, nil, x.each(ops.Maximum, nil, u, x.scalar(u.dtype, low)), x.scalar(u.dtype, high))
}

func hardSigmoid(x *site) *value {
	return x.bounded(x.plus(x.times(x.at(0), x.float("alpha", 0.2)), x.float("beta", 0.5)), 0, 1)
}

func hardSwish(x *site) *value {
	u := x.at(0)
	return x.each(ops.Mul, nil, u, x.bounded(x.plus(x.times(u, 1.0/6), 0.5), 0, 1))
}

func mish(x *site) *value {
	u := x.at(0)
	return x.each(ops.Mul, nil, u, x.each(ops.Tanh, nil, x.each(ops.Softplus, nil, u)))
}

func gelu(x *site) *value {
	if x.str("approximate", "none") == "tanh" {
		return x.tanhGelu(x.at(0))
	}
	return x.erfGelu(x.at(0))
}

func (x *site) erfGelu(u *value) *value {
	return x.halfOf(u, x.each(ops.Erf, nil, x.times(u, math.Sqrt(0.5))))
}

func (x *site) tanhGelu(u *value) *value {
	cube := x.each(ops.Mul, nil, u, x.each(ops.Square, nil, u))
	return x.halfOf(u, x.each(ops.Tanh, nil, x.times(x.each(ops.AddV2, nil, u, x.times(cube, 0.044715)), math.Sqrt(2/math.Pi))))
}

// halfOf is u*(p+1)/2.
func (x *site) halfOf(u, p *value) *value {
	return x.times(x.each(ops.Mul, nil, u, x.plus(p, 1)), 0.5)
}

func shrink(x *site) *value {
	u, bias, lambda := x.at(0), x.float("bias", 0), x.float("lambd", 0.5)
	high := x.each(ops.Greater, nil, u, x.scalar(u.dtype, lambda))
	low := x.each(ops.Less, nil, u, x.scalar(u.dtype, -lambda))
	return x.each(ops.SelectV2, nil, low, x.plus(u, bias), x.each(ops.SelectV2, nil, high, x.plus(u, -bias), x.scalar(u.dtype, 0)))
}

// softmax works along one axis; before version 13 it works on all axes from that one on, flattened.
func softmax(d *ops.Def) func(x *site) *value {
	return func(x *site) *value {
		u, rank := x.at(0), x.rank(0)
		if x.version < 13 {
			return x.onRows(u, axisOf(x.int("axis", 1), max(rank, 1)), func(v *value) *value { return x.op(d, nil, v) })
		}
		if rank == 0 {
			return x.op(d, nil, u)
		}
		return x.atEnd(u, axisOf(x.int("axis", -1), rank), func(v *value) *value { return x.op(d, nil, v) })
	}
}

// onRows applies f to a matrix whose rows have all axes from the given one on.
func (x *site) onRows(u *value, axis int, f func(v *value) *value) *value {
	if rank := u.rank(); axis == rank-1 {
		return f(u)
	}
	return x.op(ops.Reshape, nil, f(x.flat(u, axis)), x.shape(u))
}

// atEnd applies f with the axis moved to the end.
func (x *site) atEnd(u *value, axis int, f func(v *value) *value) *value {
	rank := u.rank()
	if axis == rank-1 {
		return f(u)
	}
	if axis == 1 && rank >= 3 {
		return x.channelsFirst(f(x.channelsLast(u)))
	}
	perm := append(without(rank, axis), axis)
	return x.transpose(f(x.transpose(u, perm)), inverse(perm))
}

func inverse(perm []int) []int {
	out := make([]int, len(perm))
	for i, p := range perm {
		out[p] = i
	}
	return out
}

// hardmax is 1 at the first of the largest elements, 0 elsewhere.
func hardmax(x *site) *value {
	u, rank := x.at(0), x.rank(0)
	hard := func(v *value) *value {
		r := v.rank()
		depth := x.size(v, r-1)
		at := x.op(ops.ArgMax, nil, v, x.i32(r-1))
		return x.op(ops.OneHot, graph.Attrs{"axis": int64(-1)}, at, depth, x.scalar(v.dtype, 1), x.scalar(v.dtype, 0))
	}
	if x.version < 13 {
		return x.onRows(u, axisOf(x.int("axis", 1), rank), hard)
	}
	return x.atEnd(u, axisOf(x.int("axis", -1), rank), hard)
}
